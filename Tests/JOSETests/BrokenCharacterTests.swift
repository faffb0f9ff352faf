import JOSE
import Testing

/// A surrogate without its other half (RFC 8259 §8.2): shown as U+FFFD, and never part of a name that is compared.
@Suite struct BrokenCharacterTests {
    @Test(arguments: [
        (#""\ud800""#, "\u{FFFD}"), (#""\udbff""#, "\u{FFFD}"), (#""\udc00""#, "\u{FFFD}"), (#""\udfff""#, "\u{FFFD}"),
        (#""Ann \ud83d""#, "Ann \u{FFFD}"), (#""\ud83dx""#, "\u{FFFD}x"), (#""\ud83d\n""#, "\u{FFFD}\n"),
        (#""\ud83d\u0041""#, "\u{FFFD}A"), (#""\ud83d\ud83d\udd11""#, "\u{FFFD}\u{1F511}"),
        (#""\udd11\ud83d""#, "\u{FFFD}\u{FFFD}"), (#""\ud83d\\u""#, "\u{FFFD}\\u"), (#""\ud83d\"""#, "\u{FFFD}\""),
        (#""\ud83d\udd11""#, "\u{1F511}"),
    ])
    func `a lone surrogate in a value is replaced, and the rest is read`(text: String, expected: String) throws {
        let json = try JSON(parsing: text)
        #expect(json.string?.isExactly(expected) == true, "\(json)")
        // Written, it is a character like any other.
        #expect(try JSON(parsing: json.serialized()) == json)
    }

    @Test(arguments: [
        ("24400320", true), ("j\u{E9}", true), ("", true), ("\u{FFFC}\u{FFFE}", true), ("\u{FFFD}", false),
        ("2440\u{FFFD}", false),
    ])
    func `a text with a replacement identifies nothing`(text: String, isExact: Bool) {
        #expect(JSON.string(text).exactString == (isExact ? text : nil))
        #expect(JSON.string(text).string == text)
        #expect(JSON.string(text).kind == (isExact ? "a string" : "a string with a broken character"))
    }

    @Test func `what is no string identifies nothing`() {
        for json in [1, true, nil, [], [:]] as [JSON] { #expect(json.exactString == nil) }
    }

    @Test func `two broken names of keys are not equal`() throws {
        var key = try #require(try Vector("rfc7520-4.1").json["jwk"]?.object)
        func set(_ kid: String) throws -> JWKSet {
            key["kid"] = try JSON(parsing: #""\#(kid)""#)
            return try JWKSet(["keys": [.object(key)]])
        }
        #expect(try set("a").keys.count == 1)
        #expect(try set(#"a\ud800"#).keys.isEmpty)
    }

    @Test(arguments: ["kid", "typ", "alg"])
    func `a broken text in a header is refused, or names nothing`(name: String) throws {
        func header(_ text: String) throws -> JWS.Header? {
            var members: [String: String] = ["alg": "RS256"]
            members[name] = text
            let json = "{" + members.map { #""\#($0)":"\#($1)""# }.joined(separator: ",") + "}"
            return try? JWS(compact: Base64URL.encode(Array(json.utf8)) + ".e30.AQ").header
        }
        #expect(try header("RS256") != nil)
        let broken = try header(#"RS256\ud800"#)
        #expect(broken.flatMap { SignatureAlgorithm(rawValue: $0.alg) } == nil)
        #expect(name == "alg" || broken == nil)
    }
}

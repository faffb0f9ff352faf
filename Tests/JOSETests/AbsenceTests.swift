import JOSE
import Testing

/// `null` means absent in every document. Where the absence of a value might permit something, it is an error.
@Suite struct AbsenceTests {
    @Test func `a member that is null is absent for a reader, and is written as it was`() throws {
        let text = #"{"a":null,"b":1,"c":""}"#
        var object = try #require(try JSON(parsing: text).object)
        #expect(object["a"] == nil && object["b"] == 1 && object["c"] == "" && object["d"] == nil)
        #expect(JSON.object(object)["a"] == nil && JSON.object(object)["b"] == 1)
        #expect(object.names == ["a", "b", "c"] && object.members[0].value == .null)
        #expect(JSON.object(object).serialized() == text)
        #expect(object != ["b": 1, "c": ""] && object == ["b": 1, "c": "", "a": nil])
        object["a"] = nil
        #expect(object == ["b": 1, "c": ""])
        object["b"] = .null
        #expect(JSON.object(object).serialized() == #"{"b":null,"c":""}"#)
    }

    @Test(arguments: [0, 70]) func `a null is found absent in an object of any size`(others: Int) {
        var object: JSON.Object = ["a": nil]
        for number in 0..<others { object["m\(number)"] = .number(.init(number)) }
        #expect(object["a"] == nil && object.names.first == "a")
        #expect(object.insert("a", 1) == false)
    }

    @Test(arguments: [nil, .null, "", "text", " ", 0, false, [], [:]] as [JSON?])
    func `an empty string is absent only where it means nothing`(value: JSON?) {
        var object = JSON.Object()
        object["a"] = value
        #expect(object[nonEmpty: "a"] == ([nil, .null, ""].contains(value) ? nil : value))
    }

    @Test(arguments: [#"{"a":null,"a":1}"#, #"{"a":1,"a":null}"#])
    func `a member with two values is refused, also if one is null`(text: String) {
        #expect(throws: JSON.ParseError.self) { try JSON(parsing: text) }
    }

    // RFC 7517 §4, RFC 7518 §6: "d" stands for the private members.
    @Test(
        arguments: [
            ("d", .null, true), ("d", "", true), ("d", "AQAB", false), ("d", 1, false), ("d", [], false),
            ("p", .null, true), ("q", .null, true), ("dp", .null, true), ("dq", .null, true), ("qi", .null, true),
            ("oth", .null, true), ("oth", [["r": "AQAB"]], false), ("k", .null, true), ("priv", .null, true),
            ("kid", .null, true), ("kid", 1, false), ("use", .null, true), ("use", [], false), ("alg", .null, true),
            ("alg", 1, false), ("key_ops", .null, true), ("key_ops", "verify", false), ("crv", .null, true),
            // Without these there is no key.
            ("kty", .null, false), ("n", .null, false), ("e", .null, false), ("n", "", false), ("kty", "", false),
        ] as [(String, JSON, Bool)])
    func `a null in a JWK is absent, and a value of the wrong type is an error`(
        name: String, value: JSON, isKey: Bool
    ) throws {
        var object = try #require(try Vector("rfc7520-4.1").json["jwk"]?.object)
        object[name] = value
        #expect((try? VerificationKey(JWK(.object(object))))?.jwk.fits(.rs256) ?? false == isKey)
        #expect(
            try JWKSet(["keys": [.object(object)]]).candidates(kid: nil, algorithm: .rs256).count == (isKey ? 1 : 0))
    }

    /// An empty string is a value of these: it must neither widen what a key is for, nor name one.
    @Test(arguments: ["use", "alg"])
    func `an empty text restricts a key to nothing`(name: String) throws {
        var object = try #require(try Vector("rfc7520-4.1").json["jwk"]?.object)
        (object["use"], object["alg"]) = ("sig", "RS256")
        #expect(try JWK(.object(object)).fits(.rs256))
        object[name] = ""
        #expect(try !JWK(.object(object)).fits(.rs256))
    }

    @Test func `a key without a name is not the one that a header names`() throws {
        var object = try #require(try Vector("rfc7520-4.1").json["jwk"]?.object)
        for (kid, isFound) in [("1", true), (.null, false), ("", false)] as [(JSON, Bool)] {
            object["kid"] = kid
            let set = try JWKSet(["keys": [.object(object)]])
            #expect(set.candidates(kid: "1", algorithm: .rs256).count == (isFound ? 1 : 0))
            #expect(set.candidates(kid: nil, algorithm: .rs256).count == 1)
        }
    }

    @Test func `a private key whose private member is null is none`() throws {
        let pair = try SigningKey.generate(.edDSA)
        var object = try #require(pair.publicKey.json.object)
        object["d"] = .null
        #expect(throws: JOSEError.self) { try PrivateKey(jwk: .object(object)) }
        #expect(try JWK(.object(object)).thumbprint == pair.publicKey.thumbprint)
    }

    /// RFC 7515 §4.1. `crit` is the exception (§4.1.11): a reader that cannot tell what is critical must not go on.
    @Test(arguments: [
        (#""kid":null"#, true), (#""typ":null"#, true), (#""kid":null,"typ":null,"cty":null,"jwk":null"#, true),
        (#""b64":null"#, true), (#""kid":1"#, false), (#""typ":[]"#, false), (#""crit":null"#, false),
        (#""crit":"""#, false), (#""b64":null,"crit":["b64"]"#, false), (#""kid":null,"kid":"1""#, false),
    ])
    func `a null in a header is absent, except crit`(members: String, isRead: Bool) {
        let header = Base64URL.encode(Array(#"{"alg":"RS256",\#(members)}"#.utf8))
        let jws = try? JWS(compact: header + ".e30.AQ")
        #expect((jws != nil) == isRead)
        #expect(jws?.header.kid == nil && jws?.header.typ == nil)
    }

    @Test(arguments: [#"{"alg":null}"#, #"{"alg":""}"#, #"{"alg":null,"typ":"JWT"}"#])
    func `without an algorithm nothing verifies`(header: String) throws {
        let token = Base64URL.encode(Array(header.utf8)) + ".e30.AQ"
        let isSigned = try (try? JWS(compact: token))?.isSigned(
            by: VerificationKey(SigningKey.generate(.es256).publicKey), algorithm: .es256)
        #expect(isSigned != true)
    }

    /// RFC 7516 §4.1: content is never decompressed, so that `zip` can be null.
    @Test(arguments: ["zip", "typ", "cty", "kid", "apu", "apv"])
    func `a null in the header of an encrypted token is absent`(name: String) throws {
        let key = try RecipientKey.generate(.ec(.p256))
        let token = try JWE.encrypt([1], header: [name: nil], to: key.publicKey, .ecdhES, .a128GCM)
        #expect(try JWE(compact: token).decrypted(by: key) == [1])
    }
}

/// A token's header (RFC 7515 §4, RFC 7516 §4), read strictly: a JSON object with unique names, with an `alg` and
/// without `crit`, because no extension is known here (RFC 7515 §4.1.11). Not even `null`, which elsewhere means absent:
/// a reader that cannot tell what is critical must not go on.
struct JOSEHeader {
    let members: JSON.Object
    let alg: String

    init(_ bytes: [UInt8]) throws(JOSEError) {
        let json: JSON
        do { json = try JSON(parsing: bytes) } catch { throw JOSEError("the token’s header is \(error)") }
        guard let object = json.object, let alg = object["alg"]?.string else {
            throw JOSEError(
                "expected a header with 'alg', found \(json.object.map { $0["alg"].foundKind } ?? json.kind)")
        }
        guard !object.names.contains("crit") else {
            throw JOSEError("the token’s header has 'crit', but no extension is supported")
        }
        (members, self.alg) = (object, alg)
    }

    /// Returns a member that is a string; nil if it is absent.
    func text(_ name: String) throws(JOSEError) -> String? {
        guard let value = members[name] else { return nil }
        guard let text = value.exactString else {
            throw JOSEError("expected the header’s \(name.foundText) to be a string, found \(value.kind)")
        }
        return text
    }
}

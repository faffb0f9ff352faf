internal import HTTPTypes

/// The parser of `Authorization: Token token="…"`, which describes errors in a sentence.
struct OProAuthorization: Sendable {
    let records: OProRecords

    struct Refusal: Error { let sentence: String }

    func user(_ request: Request) throws(Refusal) -> OProUser {
        let fields = request.headers[values: .authorization]
        guard let field = fields.first, fields.count == 1 else {
            throw Refusal(
                sentence: fields.isEmpty ? "No OAuth token was provided" : "There are two Authorization fields")
        }
        guard field.hasPrefix(#"Token token=""#), field.hasSuffix(#"""#) else {
            throw Refusal(sentence: #"The Authorization field is not: Token token="…""#)
        }
        let token = field.dropFirst(#"Token token=""#.count).dropLast()
        guard !token.isEmpty, !token.contains("\"") else { throw Refusal(sentence: "The OAuth token is malformed") }
        switch records.standing(of: String(token)) {
        case .good(let user): return user
        case .expired: throw Refusal(sentence: "The OAuth token has expired")
        case .unknown: throw Refusal(sentence: "No OAuth user belongs to this token")
        }
    }
}

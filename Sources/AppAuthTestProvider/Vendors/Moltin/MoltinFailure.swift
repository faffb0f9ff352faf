internal import HTTPTypes
internal import JOSE

/// Moltin's errors: `status` false and a sentence, at the token endpoint too, where RFC 6749 §5.2 wants a code. The status
/// is 400, also for a dead token, and there is no challenge.
struct MoltinFailure: Error {
    let status: HTTPResponse.Status
    let sentence: String

    init(_ status: HTTPResponse.Status = .badRequest, _ sentence: String) {
        (self.status, self.sentence) = (status, sentence)
    }

    static let deadToken = MoltinFailure("Access token is not valid")
    static let wrongClient = MoltinFailure("Client authentication failed")

    init(_ sentence: String) { self.init(.badRequest, sentence) }

    func reply(inPlural: Bool) -> Reply {
        let document: JSON =
            inPlural
            ? ["status": false, "errors": [.string(sentence)]] : ["status": false, "error": .string(sentence)]
        return .json(document, status)
    }
}

internal import HTTPTypes
internal import JOSE

/// An error of Moltin: `status` false and a sentence, even at the token endpoint, where RFC 6749 §5.2 requires a code.
/// The default status is 400, even for an invalid token, and there is no challenge.
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

internal import HTTPTypes
internal import JOSE

/// An error of Moltin: `status` false and a sentence, even at the token endpoint, where RFC 6749 §5.2 requires a code.
/// The default status is 400, even for an invalid token, and there is no challenge.
///
/// Only the sentence about an invalid access token is Moltin's own. The others are the double's choice, and avoid the
/// terms of OAuth, so that no client comes to depend on them.
struct MoltinFailure: Error {
    let status: HTTPResponse.Status
    let sentence: String

    init(_ status: HTTPResponse.Status = .badRequest, _ sentence: String) {
        (self.status, self.sentence) = (status, sentence)
    }

    static let deadToken = MoltinFailure("Access token is not valid")
    static let wrongClient = MoltinFailure("No shop has this ID and this secret")

    init(_ sentence: String) { self.init(.badRequest, sentence) }

    func reply(in form: Moltin.ErrorForm) -> Reply {
        var document: JSON.Object = ["status": false]
        switch form {
        case .error: document["error"] = .string(sentence)
        case .errors: document["errors"] = .string(sentence)
        case .errorList: document["errors"] = [.string(sentence)]
        case .none: break
        }
        return .json(.object(document), status)
    }
}

internal import FoundationEssentials
internal import HTTPTypes
internal import JOSE

/// Client authentication at the endpoints that clients call directly (RFC 6749 §2.3).
struct ClientAuthentication {
    let context: Context

    /// The parameters of the body. The client_id is not included, because it has other uses.
    static let parameters: Set = ["client_secret", "client_assertion", "client_assertion_type"]

    private struct Credentials {
        let id: String
        let secret: String?
        let method: RegisteredClient.Authentication
    }

    /// Returns the client that sent the request.
    func client(_ request: Request, _ form: Parameters) throws(OAuthFailure) -> RegisteredClient {
        if form["client_assertion"] != nil || form["client_assertion_type"] != nil {
            // RFC 6749 §2.3: at most one method in a request.
            guard request.headers[.authorization] == nil, form["client_secret"] == nil else {
                throw .invalidRequest("the client authenticates by two methods at once")
            }
            return try ClientAssertion(context: context).client(form)
        }
        let credentials = try credentials(request, form)
        guard let client = context.client(credentials.id) else {
            throw .invalidClient(OAuthFailure.notRegistered(credentials.id))
        }
        guard client.authentication.contains(credentials.method) else {
            let expected = client.authentication.map(\.rawValue).sorted().joined(separator: " or ")
            throw .invalidClient("expected the client to authenticate by \(expected)")
        }
        if let secret = client.secret {
            guard constantTimeEqual(credentials.secret ?? "", secret) else {
                throw .invalidClient("the client secret is wrong")
            }
        }
        return client
    }

    private func credentials(_ request: Request, _ form: Parameters) throws(OAuthFailure) -> Credentials {
        let fields = request.headers[values: .authorization]
        guard fields.count <= 1 else { throw .invalidRequest("expected one Authorization field") }
        guard let field = fields.first else {
            guard let id = form["client_id"] else { throw .invalidClient("expected a client_id") }
            let secret = form["client_secret"]
            return Credentials(id: id, secret: secret, method: secret == nil ? .none : .post)
        }
        // RFC 6749 §2.3: at most one method in a request.
        guard form["client_secret"] == nil else {
            throw .invalidRequest("the client authenticates by two methods at once")
        }
        let basic = try Self.basic(field)
        guard form["client_id"].map({ $0 == basic.id }) ?? true else {
            throw .invalidRequest("the client_id differs from that in the Authorization field")
        }
        return basic
    }

    /// Parses HTTP Basic (RFC 7617) with form-encoded id and secret (RFC 6749 §2.3.1).
    private static func basic(_ field: String) throws(OAuthFailure) -> Credentials {
        let parts = field.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == "basic", let data = Data(base64Encoded: String(parts[1])),
            let text = String(validating: data, as: UTF8.self), let colon = text.firstIndex(of: ":"),
            let id = FormCoding.component(text[..<colon]),
            let secret = FormCoding.component(text[text.index(after: colon)...])
        else { throw .invalidClient("expected HTTP Basic with a form-encoded client_id and secret") }
        return Credentials(id: id, secret: secret, method: .basic)
    }
}

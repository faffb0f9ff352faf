internal import HTTPTypes
internal import JOSE

/// The endpoint `POST /oauth/token.json`. The body is a form. The parameters distinguish password, code and refresh,
/// since there is no `grant_type`.
struct OProTokenEndpoint: Sendable {
    let configuration: OPro.Configuration
    let records: OProRecords

    /// A failure with status 401 and a sentence as `error`. oPRO's sentence repeats the request, including the secret,
    /// so a client must not show it.
    private struct Failure: Error {
        let sentence: String

        var reply: Reply { Reply.json(["error": .string(sentence)], .unauthorized).notStored }
    }

    func respond(to request: Request) throws -> Reply {
        guard request.method == .post else { return .notAllowed("POST") }
        do {
            let issued = try records.issue(grant(form(request)))
            var document: JSON.Object = [
                "access_token": .string(issued.accessToken), "token_type": "bearer",
                "refresh_token": .string(issued.refreshToken),
                "expires_in": records.lifetime.map { .number(.init($0)) } ?? configuration.endlessLifetime,
            ]
            if !configuration.hasTokenType { document["token_type"] = nil }
            return Reply.json(.object(document)).notStored
        } catch let failure as Failure {
            return failure.reply
        }
    }

    private func form(_ request: Request) throws -> Parameters {
        do throws(FormProblem) {
            return try request.plainForm()
        } catch {
            throw Failure(sentence: "This request could not be read: \(error.reason)")
        }
    }

    private func grant(_ form: Parameters) throws -> OProRecords.GrantKey {
        guard form["grant_type"] == nil else {
            throw Failure(sentence: "There is no grant_type here, only a password, a code or a refresh_token")
        }
        let (id, secret) = (form["client_id"] ?? "", form["client_secret"] ?? "")
        guard records.hasClient(id, secret: secret) else {
            throw Failure(sentence: "There is no application with client_id=\(id) and client_secret=\(secret)")
        }
        guard ["password", "code", "refresh_token"].filter({ form[$0] != nil }).count == 1 else {
            throw Failure(sentence: "Expected one of a password, a code and a refresh_token")
        }
        if let code = form["code"] {
            guard let grant = records.grant(of: id, withCode: code) else {
                throw Failure(sentence: "No user of this application has been granted code=\(code)")
            }
            return grant
        }
        if let token = form["refresh_token"] {
            guard let grant = records.grant(of: id, withRefreshToken: token) else {
                throw Failure(sentence: "No user of this application has refresh_token=\(token)")
            }
            return grant
        }
        guard (form["username"] == nil) != (form["email"] == nil),
            let name = form["username"] ?? form["email"],
            let user = records.user(named: name, isEmail: form["email"] != nil, password: form["password"] ?? "")
        else { throw Failure(sentence: "Could not find a user that belongs to this name and password") }
        return .init(userID: user.id, clientID: id)
    }
}

internal import AppAuthConcurrency
internal import HTTPTypes
internal import JOSE

/// The endpoints `checkMail`, `checkPassword` and `registration`, with a token of client credentials: POST with JSON.
///
/// - `checkMail` `{"email":…}`: 200 `{"available":true}`, 409 `email_taken`, 422 `email_invalid`.
/// - `checkPassword` `{"password":…}`: 200 `{"acceptable":true}`, 422 `password_weak` (8 characters, a letter, a
///   digit).
/// - `registration` `{"email":…,"password":…,"given_name":…,"family_name":…}` (the names are optional): 201
///   `{"sub":…,"email":…}`, or one of the errors above. The user can sign in at once.
struct CredentialsEndpoint {
    let context: Context
    private var api: AccountsAPI { AccountsAPI(context: context) }

    func respond(to request: Request, at endpoint: Endpoint) throws -> Reply {
        guard request.method == .post else { return .notAllowed("POST") }
        return try api.respond {
            try api.client(request)
            let document = try api.object(request)
            switch endpoint {
            case .checkMail:
                try checkFree(try email(document))
                return .json(context.edited(["available": true]))
            case .checkPassword:
                _ = try password(document)
                return .json(context.edited(["acceptable": true]))
            default: return try register(document)
            }
        }
    }

    private func email(_ document: JSON.Object) throws -> String {
        guard let email = document["email"]?.string, !email.contains(" "),
            case let parts = email.split(separator: "@", omittingEmptySubsequences: false), parts.count == 2,
            !parts[0].isEmpty, parts[1].contains(".")
        else {
            throw AccountsAPI.Refusal(
                .unprocessableContent, "email_invalid", "expected an email address", fields: ["email"])
        }
        return email.lowercased()
    }

    private func password(_ document: JSON.Object) throws -> String {
        guard let password = document["password"]?.string, password.count >= 8, password.contains(where: \.isLetter),
            password.contains(where: \.isNumber)
        else {
            throw AccountsAPI.Refusal(
                .unprocessableContent, "password_weak", "expected 8 characters or more, with a letter and a digit",
                fields: ["password"])
        }
        return password
    }

    private static let taken = AccountsAPI.Refusal(
        .conflict, "email_taken", "there is an account with this email address", fields: ["email"])

    private func checkFree(_ email: String) throws {
        guard !context.people.withLock({ $0.contains { $0.name == email } }) else { throw Self.taken }
    }

    private func register(_ document: JSON.Object) throws -> Reply {
        let (email, password) = (try email(document), try password(document))
        var claims: JSON.Object = ["email": .string(email), "email_verified": false]
        for name in ["given_name", "family_name"] { claims[name] = document[name]?.string.map(JSON.string) }
        let user = User(
            name: email, password: password, subject: "7p-" + (try OpaqueToken.make()), claims: .object(claims))
        try context.people.withLock { people in
            guard !people.contains(where: { $0.name == email }) else { throw Self.taken }
            people.append(user)
        }
        return .json(["sub": .string(user.subject), "email": .string(email)], .created)
    }
}

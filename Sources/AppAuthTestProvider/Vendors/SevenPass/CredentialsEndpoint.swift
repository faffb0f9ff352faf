internal import AppAuthConcurrency
internal import HTTPTypes
internal import JOSE

/// The endpoints `checkMail`, `checkPassword` and `registration` below `/api/client/`, with a token of client
/// credentials: POST with a form. Failures of the values are reported within status 200, as
/// `{"data":{"error":…},"flags":[…]}`; if several values are wrong, as `{"data":{"errors":{FIELD:…}},"flags":[…]}`. The names
/// of parameters, errors and flags are the double's choice.
///
/// - `checkMail` with `email`: `{"data":{"available":true}}`, `email_taken` or `email_invalid`.
/// - `checkPassword` with `password`: `{"data":{"acceptable":true}}` or `password_weak` (8 characters, a letter, a digit).
/// - `registration` with `email`, `password` and optionally `given_name` and `family_name`:
///   `{"data":{"sub":…,"email":…}}`, or the errors above. The user can sign in at once.
struct CredentialsEndpoint {
    let context: Context
    private var api: AccountsAPI { AccountsAPI(context: context) }

    func respond(to request: Request, at endpoint: Endpoint) throws -> Reply {
        guard request.method == .post else { return .notAllowed("POST") }
        return try api.respond {
            try api.client(request)
            guard let form = request.form, form.repeated == nil else {
                throw AccountsAPI.Refusal(.unsupportedMediaType, "unsupported_media_type", "expected a form")
            }
            var errors: [(field: String, error: String)] = []
            if endpoint != .checkPassword, let error = emailError(form) { errors.append(("email", error)) }
            if endpoint != .checkMail, let error = passwordError(form) { errors.append(("password", error)) }
            guard errors.isEmpty else { return failure(errors) }
            switch endpoint {
            case .checkMail: return success(["available": true])
            case .checkPassword: return success(["acceptable": true])
            default: return try register(form)
            }
        }
    }

    private func success(_ data: JSON) -> Reply { .json(context.edited(["data": data])) }

    private func failure(_ errors: [(field: String, error: String)]) -> Reply {
        var byField = JSON.Object()
        for (field, error) in errors { byField[field] = .string(error) }
        let data: JSON =
            errors.count == 1 ? ["error": .string(errors[0].error)] : ["errors": .object(byField)]
        return .json(
            context.edited(["data": data, "flags": .array(errors.map { .string($0.field + "_rejected") })]))
    }

    private func emailError(_ form: Parameters) -> String? {
        guard let email = form["email"], !email.contains(" "),
            case let parts = email.split(separator: "@", omittingEmptySubsequences: false), parts.count == 2,
            !parts[0].isEmpty, parts[1].contains(".")
        else { return "email_invalid" }
        return context.people.withLock { people in
            people.contains { $0.name == email.lowercased() } ? "email_taken" : nil
        }
    }

    private func passwordError(_ form: Parameters) -> String? {
        guard let password = form["password"], password.count >= 8, password.contains(where: \.isLetter),
            password.contains(where: \.isNumber)
        else { return "password_weak" }
        return nil
    }

    private func register(_ form: Parameters) throws -> Reply {
        let email = (form["email"] ?? "").lowercased()
        var claims: JSON.Object = ["email": .string(email), "email_verified": false]
        for name in ["given_name", "family_name"] { claims[name] = form[name].map(JSON.string) }
        let user = User(
            name: email, password: form["password"] ?? "", subject: "7p-" + (try OpaqueToken.make()),
            claims: .object(claims))
        let isNew = context.people.withLock { people in
            guard !people.contains(where: { $0.name == email }) else { return false }
            people.append(user)
            return true
        }
        return isNew
            ? success(["sub": .string(user.subject), "email": .string(email)]) : failure([("email", "email_taken")])
    }
}

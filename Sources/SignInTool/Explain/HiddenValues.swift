internal import AppAuth
internal import FoundationEssentials
internal import HTTPTypes
internal import JOSE

/// The values of an exchange that are not shown, but replaced by their kind and length. Only what is known to be harmless is
/// shown.
struct HiddenValues: Sendable {
    private let redaction: Redaction

    init() { redaction = Redaction(of: []) }

    /// - Parameter request: The request, whose secrets a response may repeat.
    init(in request: TransportRequest) {
        let form = Self.form(of: request)?.items.filter { !Self.harmless.contains($0.name) }.map(\.value) ?? []
        let fields = request.head.headerFields.filter { !Self.harmlessFields.contains($0.name) }.map(\.value)
        let words = fields.flatMap { [$0] + $0.split(separator: " ").map(String.init) }
        // RFC 6749 §2.3.1: the client's secret is in the encoded part of the header, form-encoded.
        let decoded = words.compactMap { Data(base64Encoded: $0) }
            .flatMap { String(decoding: $0, as: UTF8.self).split(separator: ":").map(String.init) }
        let plain = decoded.compactMap { FormParameters.decode(Array($0.utf8)) }
        redaction = Redaction(of: (form + words + decoded + plain).map { Secret($0) })
    }

    static func form(of request: TransportRequest) -> FormParameters? {
        guard request.head.headerFields[.contentType] == "application/x-www-form-urlencoded" else { return nil }
        return FormParameters(decoding: String(decoding: request.body ?? [], as: UTF8.self))
    }

    func url(_ head: HTTPRequest) -> String {
        url("\(head.scheme ?? "")://\(head.authority ?? "")\(head.path ?? "")")
    }

    /// The lines of the header fields. Of a response, only those that matter here.
    func fields(_ fields: HTTPFields, ofRequest: Bool) -> [String] {
        fields.compactMap { field in
            if field.name == .location { return "\(field.name): \(url(field.value))" }
            if Self.harmlessFields.contains(field.name) {
                return "\(field.name): \(redaction.applied(to: field.value).shortened(to: 200))"
            }
            let kind = Self.fieldKinds[field.name]
            guard ofRequest || kind != nil else { return nil }
            return "\(field.name): \(Self.hidden(kind ?? "value", field.value))"
        }
    }

    func body(_ request: TransportRequest) -> [String] {
        if let form = Self.form(of: request) { return form.items.map { parameter($0.name, $0.value) } }
        return body(request.body ?? [], isPublic: false)
    }

    func body(_ response: TransportResponse, of stage: AuthError.Stage) -> [String] {
        body(response.body, isPublic: stage == .discovery || stage == .keys)
    }

    func parameter(_ name: String, _ value: String) -> String {
        guard Self.harmless.contains(name) else { return "\(name)=\(Self.hidden(Self.kinds[name] ?? "value", value))" }
        return "\(name)=\(redaction.applied(to: value).shortened(to: 200))"
    }

    /// - Parameter isPublic: Whether the document is the same for everyone.
    private func body(_ bytes: [UInt8], isPublic: Bool) -> [String] {
        guard !bytes.isEmpty else { return [] }
        guard let members = (try? JSON(parsing: bytes))?.object?.members else {
            return ["[body, \(bytes.count) bytes]"]
        }
        return members.map { member in
            let text = member.value.string ?? member.value.serialized()
            guard isPublic || Self.harmless.contains(member.name) else {
                return "\(member.name.shortened(to: 100)): \(Self.hidden(Self.kinds[member.name] ?? "value", text))"
            }
            let shown = redaction.applied(to: text)
            return "\(member.name): \(shown.shortened(to: 120))\(shown.unicodeScalars.count > 120 ? "…" : "")"
        }
    }

    private func url(_ text: String) -> String {
        guard let mark = text.firstIndex(where: { "?#".contains($0) }) else { return text.shownURL }
        let items = FormParameters(decoding: text[text.index(after: mark)...])?.items ?? []
        // Encoded as it was, since users paste URLs into shells.
        let parameters = items.map { item in
            let shown = parameter(item.name, item.value).dropFirst(item.name.count + 1)
            let value =
                Self.harmless.contains(item.name)
                ? Self.encoded(String(shown)) : String(shown).replacing(" ", with: "-")
            return "\(Self.encoded(item.name))=\(value)"
        }
        return "\(text[...mark])\(parameters.joined(separator: "&"))".shownURL
    }

    private static func encoded(_ text: String) -> String {
        text.percentEncoded { $0.isASCIIAlphanumeric || "-._~:/".utf8.contains($0) }
    }

    private static func hidden(_ kind: String, _ value: String) -> String { "[\(kind), \(value.count) characters]" }

    /// The parameters and members whose values say nothing about a user, and open nothing.
    private static let harmless: Set<String> = [
        "grant_type", "response_type", "response_mode", "client_id", "redirect_uri", "scope", "resource", "audience",
        "prompt",
        "code_challenge_method", "token_type_hint", "client_assertion_type", "subject_token_type", "actor_token_type",
        "requested_token_type", "issued_token_type", "token_type", "expires_in", "refresh_expires_in", "interval",
        "iss",
        "error", "error_description", "error_uri", "verification_uri", "max_age", "acr_values", "ui_locales", "display",
        "redirect_uris", "grant_types", "response_types", "token_endpoint_auth_method", "application_type",
        "client_name",
        "client_id_issued_at", "client_secret_expires_at", "active",
    ]

    private static let kinds = [
        "access_token": "access token", "refresh_token": "refresh token", "id_token": "ID token", "token": "token",
        "code": "authorization code", "code_verifier": "PKCE verifier", "code_challenge": "PKCE challenge",
        "state": "state", "nonce": "nonce", "client_secret": "client secret", "client_assertion": "JWT of the client",
        "request": "signed request", "request_uri": "reference to the pushed request", "password": "password",
        "username": "user name", "login_hint": "user name", "device_code": "device code", "user_code": "user code",
        "verification_uri_complete": "page with the user code", "assertion": "JWT of another issuer",
        "subject_token": "token", "actor_token": "token", "id_token_hint": "ID token",
        "dpop_jkt": "thumbprint of the DPoP key", "registration_access_token": "token of the registration",
    ]

    private static let harmlessFields: Set<HTTPField.Name> = [
        .accept, .contentType, .date, .cacheControl, .retryAfter, .wwwAuthenticate,
    ]

    private static let fieldKinds: [HTTPField.Name: String] = {
        var kinds: [HTTPField.Name: String] = [
            .authorization: "credentials", .cookie: "cookies", .setCookie: "cookie",
        ]
        for (name, kind) in [("DPoP", "proof of the DPoP key"), ("DPoP-Nonce", "nonce for DPoP")] {
            if let name = HTTPField.Name(name) { kinds[name] = kind }
        }
        return kinds
    }()
}

internal import AppAuth
internal import JOSE

/// The name of a session in the state folder and in the keyring: its profile, or its issuer and client.
enum SessionName: Sendable {
    case profile(Profile)
    case client(Issuer, String)
    /// The session, or the client, of a resource whose user has named no client. Many resources may have the same client: some
    /// servers give every registration the same ID, and a client ID document has one. A helper of one must not get the
    /// token of another.
    case resource(String, Issuer, String)

    /// - Parameter resource: The resource that the client is for; nil for the user's own client.
    init(_ issuer: Issuer, _ clientID: String, for resource: String?) {
        self = resource.map { .resource($0, issuer, clientID) } ?? .client(issuer, clientID)
    }

    /// Parses a keyring account. The first word of an account is an issuer or `profile`; neither contains a space.
    init?(account: String) {
        guard let space = account.firstIndex(of: " ") else { return nil }
        let (first, rest) = (String(account[..<space]), String(account[account.index(after: space)...]))
        if first == "profile", let profile = Profile(argument: rest) {
            self = .profile(profile)
        } else if first == "resource" {
            let words = rest.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false).map(String.init)
            guard words.count == 3, let issuer = try? Issuer(words[1]) else { return nil }
            self = .resource(words[0], issuer, words[2])
        } else if let issuer = try? Issuer(first) {
            self = .client(issuer, rest)
        } else {
            return nil
        }
    }

    /// The program's entry in the keyring.
    var keyring: KeyringTokenStore {
        switch self {
        case .profile(let profile):
            KeyringTokenStore(
                application: "sign-in", account: account, label: "Sign-in of sign-in with the profile \(profile.name)")
        case .client(let issuer, let clientID):
            KeyringTokenStore(application: "sign-in", issuer: issuer, clientID: clientID)
        case .resource(let resource, _, _):
            KeyringTokenStore(application: "sign-in", account: account, label: "Sign-in of sign-in for \(resource)")
        }
    }

    /// The account in the keyring. Only a client ID may contain a space.
    private var account: String {
        switch self {
        case .profile(let profile): "profile \(profile.name)"
        case .client(let issuer, let clientID): "\(issuer.string) \(clientID)"
        case .resource(let resource, let issuer, let clientID): "resource \(resource) \(issuer.string) \(clientID)"
        }
    }

    /// The name of the session's files, without an extension.
    ///
    /// The name of a client's session contains both parts, encoded as in a form, so `sign-in token` finds the file
    /// without starting libcrypto. A name too long for a file system is a digest, which has no `+` as the others do, and
    /// is longer than a profile's name.
    var fileName: String {
        if case .profile(let profile) = self { return profile.name }
        let name = FormParameters.encode(account)
        return name.utf8.count > 200 ? Base64URL.encode(Digest.sha256.hash(name)) : name
    }

    /// Parses the name of a session's files, without an extension. Nil for a digest.
    init?(fileName: String) {
        let account = fileName.contains("+") ? FormParameters.decode(fileName.utf8) : "profile \(fileName)"
        guard let name = account.flatMap(SessionName.init(account:)), name.fileName == fileName else { return nil }
        self = name
    }

    /// Whether a file with this name may have a session of a client of the issuer. Only a digest does not say it.
    static func mayBelong(_ fileName: String, to issuer: Issuer) -> Bool {
        guard fileName.contains("+") else { return true }
        return switch SessionName(fileName: fileName) {
        case .client(issuer, _)?, .resource(_, issuer, _)?: true
        default: false
        }
    }
}

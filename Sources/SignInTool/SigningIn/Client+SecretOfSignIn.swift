internal import AppAuth

extension Client {
    /// Returns the client with the secret that is in the file of its sign-in by now; nil if that is the same, or cannot be
    /// read, or is another client's. A secret is replaced while the session goes on.
    func withSecret(of signIn: SignInLine) -> Client? {
        // RFC 6749 §2.3.1: the secret is for this client at this provider. The profile may not know its latest session yet.
        guard signIn.value(of: "--client-id")?.isExactly(id) == true,
            signIn.issuer?.isExactly(provider.issuer.string) == true,
            let path = signIn.value(of: "--client-secret-file"), OwnPlace.isFile(path),
            let secret = try? SecretFile.read(path, of: nil), secret != authentication.secret
        else { return nil }
        var client = self
        switch authentication {
        case .clientSecretBasic: client.authentication = .clientSecretBasic(secret)
        case .clientSecretPost: client.authentication = .clientSecretPost(secret)
        case .clientSecretJWT(_, let audience): client.authentication = .clientSecretJWT(secret, audience: audience)
        case .none, .privateKeyJWT, .assertion, .tlsClientAuth, .selfSignedTLSClientAuth: return nil
        }
        return client
    }
}

extension SignInLine {
    /// The issuer that the line names, in whichever way; nil if a resource does.
    fileprivate var issuer: String? {
        let preset = value(of: "--preset").flatMap { try? ProviderOptions.Preset($0).preset }
        return value(of: "--issuer") ?? preset?.issuer.string
            ?? (try? ProviderPreset(issuer: nil, tokenEndpoint: value(of: "--token-endpoint")))?.issuer.string
    }
}

public import AppAuth
internal import ArgumentParser

/// The place for the tokens: the argument of `--store`.
public enum StoreChoice: Sendable {
    case keyring
    case file(String)

    /// - Throws: `ValidationError` if the argument is neither of these.
    public init(_ argument: String) throws {
        switch argument {
        case "keyring": self = .keyring
        case _ where argument.hasPrefix("file:") && argument.count > "file:".count:
            self = .file(String(argument.dropFirst("file:".count)))
        default: throw ValidationError("expected keyring or file:PATH, found '\(argument)'")
        }
    }

    /// Returns the store for the session of a client at a server.
    public func store(of sample: String, at server: String, clientID: String) -> any TokenStore {
        switch self {
        case .keyring:
            KeyringTokenStore(
                application: sample, account: "\(server) \(clientID)",
                label: "Sign-in of the sample \(sample) at \(server)")
        case .file(let path): FileTokenStore(path: path)
        }
    }
}

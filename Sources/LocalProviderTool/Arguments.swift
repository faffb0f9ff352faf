internal import ArgumentParser
internal import AppAuthTestProvider

/// A user as `NAME:PASSWORD`. The password may contain colons.
struct UserArgument: ExpressibleByArgument {
    let user: User

    init?(argument: String) {
        let parts = argument.split(separator: ":", maxSplits: 1).map(String.init)
        guard parts.count == 2 else { return nil }
        user = User(name: parts[0], password: parts[1])
    }
}

/// A client: `ID` for a public one, `ID:SECRET` for a confidential one. The secret may contain colons.
struct ClientArgument: ExpressibleByArgument {
    let client: RegisteredClient

    init?(argument: String) {
        let parts = argument.split(separator: ":", maxSplits: 1).map(String.init)
        guard let id = parts.first, !argument.hasPrefix(":") else { return nil }
        let secret = parts.count == 2 ? parts[1] : nil
        let ofEachClient: Set = [
            "authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:device_code",
        ]
        client = RegisteredClient(
            id: id, secret: secret, redirectURIs: [.anyLoopback],
            grantTypes: secret == nil ? ofEachClient : ofEachClient.union(["client_credentials", "password"]))
    }
}

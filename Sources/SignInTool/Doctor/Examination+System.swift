internal import AppAuth
internal import Glibc
internal import HTTPTypes
internal import JOSE

/// The checks of this computer.
extension Examination {
    mutating func checkLibraries() async throws {
        try await check("libraries", otherwise: .libraryMissing) { _ in
            "libcurl \(try CurlLibrary.load().version), libcrypto \(Libcrypto.version)"
        }
    }

    /// Checks whether a session can be stored, without asking the user and without a change.
    ///
    /// - Returns: The session that is stored already.
    mutating func checkStore(_ store: any TokenStore) async throws -> AuthStateRecord? {
        var record: AuthStateRecord?
        try await check("store", otherwise: .storeUnusable) { _ in
            var store = store
            if var keyring = store as? KeyringTokenStore {
                keyring.mayPrompt = false
                store = keyring
            }
            try await store.prepare()
            record = try await store.load(
                TokenStoreCall(isUnattended: true, expectsSession: StateFolder.expectsSession(in: store)))
            return record == nil ? "can be written" : "can be written, and has a session"
        }
        return record
    }

    mutating func checkBrowser() async throws {
        try await check("browser", otherwise: .browserMissing) { examination in
            let ladder = BrowserLadder(in: .current)
            let names = ladder.commands.map(\.name)
            let found = names.first(where: Self.isProgram)
            for obstacle in ladder.remainingObstacles where found != nil {
                examination.add(Finding(.browserObstacle, obstacle.message))
            }
            if let found { return found }
            let missing = names.isEmpty ? [] : ["none of these programs is in PATH: \(names.joined(separator: ", "))"]
            let reasons = missing + ladder.obstacles.map(\.message)
            examination.add(Finding(.browserMissing, reasons.joined(separator: "; ")))
            return "none"
        }
    }

    private static func isProgram(_ name: String) -> Bool {
        let folders = name.contains("/") ? [""] : (variable("PATH") ?? "").split(separator: ":").map { "\($0)/" }
        return folders.contains { access($0 + name, X_OK) == 0 }
    }

    /// Checks whether a browser can come back to a listener on this computer.
    ///
    /// - Returns: The redirect URI of a sign-in.
    mutating func checkRedirect(_ redirect: SignIn.Redirect, _ environment: Environment) async throws -> String {
        let host = redirect.host == .both ? LoopbackRedirectListener.Host.ipv4 : redirect.host
        let port = redirect.ports.first.flatMap { $0 == 0 ? nil : ":\($0)" } ?? ""
        var uri =
            "\(redirect.certificate == nil ? "http" : "https")://\(host.defaultValueDescription)\(port)\(redirect.path)"
        try await check("redirect", otherwise: .clientConfiguration) { examination in
            let isPrivate = redirect.privateUse != nil
            let listener = try LoopbackRedirectListener(
                host: redirect.host, ports: isPrivate ? [0] : redirect.ports, path: redirect.path,
                sameUser: redirect.sameUser, certificate: redirect.certificate)
            defer { listener.close() }
            if let obstacle = listener.sameUserObstacle { examination.add(Finding(.otherUsers, obstacle.message)) }
            uri = listener.redirectURI
            do {
                let url = try SecureURL(listener.oneTimeURL(redirectingTo: uri))
                _ = try await environment.transport.send(TransportRequest(HTTPRequest(method: .get, url: url)))
            } catch let error as AuthError where error.connectionProblem == .unreachable {
                examination.add(Finding(.loopbackBlocked, error.message))
            } catch let error as AuthError
                where redirect.certificate != nil && error.connectionProblem == .untrustedRoot
            {
                // It was reached. Browsers have lists of authorities of their own.
            }
            if let privateUse = redirect.privateUse { uri = privateUse.redirectURI }
            return uri
        }
        return uri
    }
}

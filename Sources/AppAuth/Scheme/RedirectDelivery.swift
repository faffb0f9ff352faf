internal import AppAuthProtocol
internal import CShims
internal import Glibc

/// The started helper's side: the URL goes to each process that waits, until one takes it.
package enum RedirectDelivery {
    /// The largest URL in bytes.
    package static let largest = 16 << 10
    /// What a process answers that takes the redirect; anything else is a no.
    static let taken = "taken\n"
    /// How long a process may take for each step.
    private static let patience: Int32 = 5000

    package static func send(_ url: String, _ folders: DesktopFolders) throws {
        guard let scheme = PrivateUseURI.scheme(of: url), url.utf8.count <= largest else {
            throw refusal("expected the URL of a redirect of at most 16 KiB, found another text")
        }
        let registration = SchemeRegistration(scheme, folders)
        let folder = registration.folder
        try folder.make()
        let sockets = try folder.sockets()
        for socket in sockets where offer(url, at: socket) { return }
        // Whoever has made the entry that started this process may have died: then it goes.
        let isAwaited = try folder.locked(.entry) {
            let isAwaited = try folder.sweep()
            if !isAwaited { try registration.remove(ifTemporary: true) }
            return isAwaited
        }
        throw refusal(
            "expected an app that waits for this redirect to the scheme \(scheme), found "
                + (isAwaited ? "none that takes it" : "none"))
    }

    private static func offer(_ url: String, at socket: String) -> Bool {
        let connection = shims_connect_to(socket, patience)
        guard connection >= 0 else { return false }
        defer { close(connection) }
        // The redirect is nobody else's, whoever has managed to put a socket here.
        var user: UInt32 = 0
        guard shims_peer_credentials(connection, &user) == 0, user == geteuid() else { return false }
        // One that answers before it has read everything has said no.
        _ = send(Array(url.utf8), on: connection)
        shims_end_sending(connection)
        return response(on: connection) == taken
    }

    private static func send(_ bytes: [UInt8], on connection: Int32) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    private static func response(on connection: Int32) -> String {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 16)
        while bytes.count <= buffer.count {
            let count = recv(connection, &buffer, buffer.count, 0)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            bytes += buffer[..<count]
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func refusal(_ message: String) -> AuthError {
        AuthError(.listener, .redirect, message, outcome: .notSent)
    }
}

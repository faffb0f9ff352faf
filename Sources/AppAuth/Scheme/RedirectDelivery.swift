internal import AppAuthProtocol
internal import CShims
internal import Glibc

/// The helper's side of a delivery. It offers the URL to each waiting process until one takes it.
package enum RedirectDelivery {
    /// The largest URL in bytes.
    package static let largest = 16 << 10
    /// The response of a process that takes the redirect. Any other response means no.
    static let taken = "taken\n"
    /// The time limit for each step of a process, in milliseconds.
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
        // If the process that made the desktop entry has died, remove the entry.
        let isAwaited = try folder.locked {
            let isAwaited = try folder.sweep()
            if !isAwaited { try registration.remove(ifTemporary: true) }
            return isAwaited
        }
        throw refusal(
            isAwaited
                ? "no app that waits for a redirect to the scheme \(scheme) accepts this one"
                : "no app waits for a redirect to the scheme \(scheme)")
    }

    private static func offer(_ url: String, at socket: String) -> Bool {
        let connection = shims_connect_to(socket, patience)
        guard connection >= 0 else { return false }
        defer { close(connection) }
        // Do not deliver the redirect to another user whose socket is in the folder.
        var user: UInt32 = 0
        guard shims_peer_credentials(connection, &user) == 0, user == geteuid() else { return false }
        // A process that responds before it has read everything does not take the redirect.
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

internal import CShims
internal import Glibc

/// Finds the servers that have ended the connection of an upgrade.
///
/// While libcurl waits for bytes to send, versions before 8.9 go on with a transfer after the end of what they receive. Only
/// the loop's thread uses it.
final class EndedServers {
    /// Readable if there is one. Negative before the first upgrade.
    private(set) var descriptor: Int32 = -1
    private var watched: [Int32: CurlTransfer] = [:]
    private var sockets = [Int32](repeating: -1, count: 64)
    private var events = [UInt32](repeating: 0, count: 64)

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Watches the socket of a transfer. Returns false if the kernel lacks memory or descriptors.
    func watch(_ socket: Int32, of transfer: CurlTransfer) -> Bool {
        if descriptor < 0 { descriptor = shims_epoll() }
        guard shims_epoll_watch(descriptor, socket, SHIMS_EPOLL_RDHUP.rawValue) == 0 else { return false }
        watched[socket] = transfer
        transfer.watchedSocket = socket
        return true
    }

    /// Forgets a transfer that ends.
    func forget(_ transfer: CurlTransfer) {
        // libcurl may have closed the socket, and another one may have its number.
        guard let socket = transfer.watchedSocket, watched[socket] === transfer else { return }
        watched[socket] = nil
        shims_epoll_forget(descriptor, socket)
    }

    /// Returns transfers whose server has ended since the last call, some or all of them.
    func next() -> [CurlTransfer] {
        guard !watched.isEmpty else { return [] }
        let count = Int(shims_epoll_wait(descriptor, &sockets, &events, Int32(sockets.count), 0))
        return sockets.prefix(count).compactMap { watched[$0] }
    }
}

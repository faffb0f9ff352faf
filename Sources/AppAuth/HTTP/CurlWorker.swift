internal import AppAuthConcurrency
internal import AppAuthProtocol

/// A thread that runs all transfers of a transport. It sleeps in `poll` while there is no work. It ends when the worker
/// is released and the last transfer has ended.
final class CurlWorker: Sendable {
    private let mailbox: CurlMailbox

    /// Starts the thread.
    ///
    /// - Throws: ``AuthError`` with the code `unavailable` if the thread cannot be started.
    init(_ library: CurlLibrary, _ options: CurlOptions) throws {
        guard let loop = CurlLoop(library, options) else {
            throw AuthError(
                .unavailable, .configuration, "libcurl could not be set up: out of memory", outcome: .notSent)
        }
        mailbox = loop.mailbox
        try SystemThread(named: "appauth-http", for: .configuration) { loop.run() }.detach()
    }

    deinit { mailbox.post { $0.isClosing = true } }

    /// Sends a request and waits for the response, or until the task is cancelled.
    ///
    /// - Parameter confirmed: A server that was found to be in another network namespace just now.
    func perform(
        _ request: TransportRequest, confirmed: UnknownServer.Address? = nil
    ) async throws -> TransportResponse {
        let transfer = try CurlTransfer(
            request, confirmed: confirmed,
            resume: { [mailbox] transfer in mailbox.post { $0.resumed.append(transfer) } },
            end: { [mailbox] transfer in mailbox.post { $0.cancelled.append(transfer) } })
        return try await withTaskCancellationHandler {
            try await withLockedContinuation { continuation in
                transfer.continuation = continuation
                mailbox.post { $0.submitted.append(transfer) }
            }
        } onCancel: {
            // If the task is cancelled already, this precedes the submission, and the loop does not start the transfer.
            mailbox.post { $0.cancelled.append(transfer) }
        }
    }
}

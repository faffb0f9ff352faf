internal import AppAuthProtocol

/// A thread that runs all transfers of a transport. It sleeps in `poll` while there is nothing to do, and ends when the
/// worker is released and the last transfer is over.
final class CurlWorker: Sendable {
    private let mailbox: CurlMailbox

    /// Starts the thread.
    ///
    /// - Throws: ``AuthError`` with the code `unavailable` if the system gives no thread.
    init(_ library: CurlLibrary, _ options: CurlOptions) throws {
        guard let loop = CurlLoop(library, options) else {
            throw AuthError(
                .unavailable, .configuration, "libcurl could not be set up: out of memory", outcome: .notSent)
        }
        mailbox = loop.mailbox
        try SystemThread(named: "appauth-http", for: .configuration) { loop.run() }.detach()
    }

    deinit { mailbox.post { $0.isClosing = true } }

    /// Runs an exchange to its end, or until the task is cancelled.
    func perform(_ request: TransportRequest) async throws -> TransportResponse {
        let transfer = try CurlTransfer(request)
        return try await withTaskCancellationHandler {
            try await withLockedContinuation { continuation in
                transfer.continuation = continuation
                mailbox.post { $0.submitted.append(transfer) }
            }
        } onCancel: {
            // Comes before the submission if the task is cancelled already: the loop then does not start the transfer.
            mailbox.post { $0.cancelled.append(transfer) }
        }
    }
}

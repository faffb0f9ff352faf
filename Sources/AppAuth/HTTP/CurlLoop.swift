internal import AppAuthProtocol
internal import CShims

/// The body of the worker's thread. It owns a `curl_multi` and all its handles. Other threads use only the mailbox.
final class CurlLoop: @unchecked Sendable {
    let mailbox: CurlMailbox
    private let library: CurlLibrary
    private let options: CurlOptions
    /// The options with the system's file of roots, once a server needs it, and these servers.
    private lazy var optionsWithFile = options.roots.withFallback.map { roots in
        var options = options
        options.roots = roots
        return options
    }
    private var targetsOfFile: Set<String> = []
    private let multi: UnsafeMutableRawPointer
    private var running: [UnsafeMutableRawPointer: CurlTransfer] = [:]
    private lazy var serverCheck = LoopbackServerCheck(in: .current)
    private let endedServers = EndedServers()

    private static let keptConnections = 64

    /// Returns nil if libcurl is out of memory.
    init?(_ library: CurlLibrary, _ options: CurlOptions) {
        guard let multi = shims_curl_multi_new(library.curl, CurlLoop.keptConnections) else { return nil }
        (self.library, self.options, self.multi) = (library, options, multi)
        mailbox = CurlMailbox(library, multi: multi)
    }

    deinit {
        // If the thread could not be started, nothing else has closed the mailbox, and its worker still posts to it.
        mailbox.close()
        shims_curl_enter()
        shims_curl_multi_free(library.curl, multi)
        shims_curl_leave()
    }

    func run() {
        shims_curl_enter()
        while step() {
            shims_curl_leave()
            shims_curl_multi_wait(library.curl, multi, endedServers.descriptor, millisecondsToWait)
            shims_curl_enter()
        }
        mailbox.close()
        shims_curl_leave()
    }

    /// Performs the pending work. Returns false once the loop is closing and no transfer is running.
    private func step() -> Bool {
        let mail = mailbox.take()
        for transfer in mail.cancelled { cancel(transfer) }
        for transfer in mail.submitted {
            transfer.deadline = .now + transfer.request.limits.total
            start(transfer)
        }
        let ended = endedServers.next()
        for transfer in ended { transfer.serverHasEnded = true }
        for case let handle? in (mail.resumed + ended).map(\.handle) { shims_curl_continue(library.curl, handle.easy) }
        shims_curl_multi_perform(library.curl, multi)
        var code = SHIMS_CURLE_OK
        while let easy = shims_curl_multi_next_ended(library.curl, multi, &code) { finish(easy, code) }
        for (easy, transfer) in running where transfer.isLate { finish(easy, SHIMS_CURLE_OPERATION_TIMEDOUT) }
        return !(mail.isClosing && running.isEmpty)
    }

    /// The time until the first transfer is late.
    private var millisecondsToWait: Int32 {
        guard let deadline = running.values.map(\.deadline).min() else { return .max }
        let rest = deadline - SuspendingClock.now
        return rest > .zero ? Int32(clamping: rest.wholeMilliseconds) : 0
    }

    private func start(_ transfer: CurlTransfer) {
        guard !transfer.isCancelled else { return transfer.finish(.failure(CancellationError())) }
        guard let handle = CurlHandle(library) else {
            return transfer.finish(.failure(unavailable("libcurl is out of memory")))
        }
        let needsFile = targetsOfFile.contains(transfer.target.hostAndPort)
        (needsFile ? optionsWithFile ?? options : options).apply(to: handle, transfer)
        if options.checks(transfer.target) { transfer.serverCheck = serverCheck }
        if transfer.request.isUpgrade { transfer.endedServers = endedServers }
        transfer.receive(from: handle)
        if let refused = handle.refused {
            let problem = "libcurl \(library.version) does not support option \(refused.option.rawValue)"
            return transfer.finish(.failure(unavailable("\(problem): \(library.meaning(of: refused.code))")))
        }
        guard shims_curl_multi_add(library.curl, multi, handle.easy) != 0 else {
            return transfer.finish(.failure(unavailable("libcurl could not begin the transfer")))
        }
        running[handle.easy] = transfer
        transfer.handle = handle
    }

    private func finish(_ easy: UnsafeMutableRawPointer, _ code: shims_curl_code) {
        guard let transfer = running.removeValue(forKey: easy), let handle = transfer.handle else { return }
        transfer.handle = nil
        endedServers.forget(transfer)
        let target = transfer.target.hostAndPort
        if code == SHIMS_CURLE_PEER_FAILED_VERIFICATION, transfer.failure(code, handle, library).lacksRoot,
            !targetsOfFile.contains(target), optionsWithFile != nil
        {
            targetsOfFile.insert(target)
            release(handle)
            return start(transfer)
        }
        let result = transfer.result(code: code, handle: handle, library: library)
        release(handle)
        transfer.finish(result)
    }

    /// Ends a transfer by closing its connection or resetting its HTTP/2 stream. A transfer that is not running has
    /// ended or was not started yet.
    private func cancel(_ transfer: CurlTransfer) {
        transfer.isCancelled = true
        guard let handle = transfer.handle else { return }
        running[handle.easy] = nil
        transfer.handle = nil
        endedServers.forget(transfer)
        release(handle)
        transfer.finish(.failure(CancellationError()))
    }

    private func release(_ handle: CurlHandle) {
        shims_curl_multi_remove(library.curl, multi, handle.easy)
    }

    private func unavailable(_ message: String) -> AuthError {
        AuthError(.unavailable, .configuration, message, outcome: .notSent)
    }
}

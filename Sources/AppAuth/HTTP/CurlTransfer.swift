internal import AppAuthConcurrency
internal import AppAuthProtocol
internal import CShims
internal import HTTPTypes

/// A request in progress, with the data received so far and the waiting caller.
///
/// The caller creates it. Once it is submitted, only the worker's thread uses it.
final class CurlTransfer: @unchecked Sendable {
    let request: TransportRequest
    let target: HTTPTarget
    var continuation: LockedContinuation<TransportResponse>?
    var isCancelled = false
    /// The time limit. Time that the machine is asleep does not count.
    var deadline = SuspendingClock.now
    /// Whether data arrived since ``isLate`` was last read.
    private var hasReceived = false

    private var header: HeaderCollector
    private var body: [UInt8] = []
    private var exceeded: CurlFailure.Limit?
    private var requestBegan = false
    /// The check of the server; nil for none.
    var serverCheck: LoopbackServerCheck?
    private var foreignUser: UInt32?
    /// A server that the kernel does not know. Nothing was sent to it.
    private var unknownServer: UnknownServer.Address?
    /// A server that the kernel does not know because it is in another network namespace.
    private let confirmed: UnknownServer.Address?

    /// The handle while the transfer runs.
    var handle: CurlHandle?
    /// The body of the response, if it is streamed.
    private let download: BytePipe?
    private let trailers = LockedValue(HTTPFields())
    private let upload: (body: BytePipe, reading: Int)?
    /// For an upgrade, what watches its socket.
    var endedServers: EndedServers?
    /// The sockets that were made for its connection, and the one that it has.
    private var sockets: [Int32] = []
    var watchedSocket: Int32?
    /// Whether its server has ended the connection, and gets no further bytes.
    var serverHasEnded = false
    /// Posts that the transfer may go on after a pause, and that it is no longer needed. Any thread may call them.
    private let resume, end: @Sendable (CurlTransfer) -> Void

    /// - Throws: ``AuthError`` with the code `invalid_configuration` if the request has no usable URL.
    init(
        _ request: TransportRequest, confirmed: UnknownServer.Address?,
        resume: @escaping @Sendable (CurlTransfer) -> Void, end: @escaping @Sendable (CurlTransfer) -> Void
    ) throws(AuthError) {
        (self.request, self.confirmed, self.resume, self.end) = (request, confirmed, resume, end)
        download = request.stream.map { _ in BytePipe() }
        upload = request.stream?.body.map { ($0, $0.reading) }
        target = try HTTPTarget(request.head)
        header = HeaderCollector(limit: request.limits.headerBytes, isUpgrade: request.isUpgrade)
    }

    /// Whether the deadline has passed and all received data is read. When a stopped process resumes, its response may
    /// be waiting, but libcurl checks its clock first and would drop it.
    var isLate: Bool {
        guard !hasReceived else {
            hasReceived = false
            return false
        }
        return SuspendingClock.now >= deadline
    }

    /// Resumes the waiting caller. Only the first call has an effect.
    func finish(_ result: Result<TransportResponse, any Error>) {
        continuation?.resume(with: result)
        continuation = nil
        switch result {
        case .success:
            trailers.withLock { $0 = header.trailers }
            download?.finish()
        case .failure(let error): download?.fail(error)
        }
    }

    /// Resumes the caller of a stream with the head of the response. The rest follows.
    private func begin(_ head: HTTPResponse, _ download: BytePipe) {
        var response = TransportResponse(head, body: [])
        response.stream = ResponseStream(download, trailers) { [self] in if !download.isFinished { end(self) } }
        continuation?.resume(returning: response)
        continuation = nil
    }

    /// Returns the result of a transfer that libcurl has ended.
    func result(code: shims_curl_code, handle: CurlHandle, library: CurlLibrary) -> Result<TransportResponse, any Error>
    {
        if code == SHIMS_CURLE_OK, let response = header.response {
            return .success(TransportResponse(response.describing(decoded: request.head.method), body: body))
        }
        // To libcurl, a connection that ends within the header ends a response without a body.
        let code = code == SHIMS_CURLE_OK ? SHIMS_CURLE_PARTIAL_FILE : code
        let error = failure(code, handle, library).error(target: target, limits: request.limits)
        return .failure(unknownServer.map { UnknownServer(server: $0, error: error) } ?? error)
    }

    func failure(_ code: shims_curl_code, _ handle: CurlHandle, _ library: CurlLibrary) -> CurlFailure {
        CurlFailure(
            code: code, detail: handle.detail, meaning: library.meaning(of: code), systemError: handle.systemError,
            connectStatus: handle.connectStatus, requestBegan: requestBegan, responseBegan: header.hasBegun,
            exceeded: exceeded, foreignUser: foreignUser)
    }

    /// Registers this transfer for the callbacks of a handle. The transfer must outlive them.
    func receive(from handle: CurlHandle) {
        let context = Unmanaged.passUnretained(self).toOpaque()
        handle.set(SHIMS_CURLOPT_HEADERDATA, context)
        handle.set(SHIMS_CURLOPT_HEADERFUNCTION) { bytes, size, count, context in
            let transfer = Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue()
            return transfer.takeHeader(UnsafeRawBufferPointer(start: bytes, count: size * count)) ? size * count : 0
        }
        handle.set(SHIMS_CURLOPT_WRITEDATA, context)
        handle.set(SHIMS_CURLOPT_WRITEFUNCTION) { bytes, size, count, context in
            let transfer = Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue()
            return transfer.takeBody(UnsafeRawBufferPointer(start: bytes, count: size * count))
        }
        if upload != nil {
            handle.set(SHIMS_CURLOPT_READDATA, context)
            handle.set(SHIMS_CURLOPT_READFUNCTION) { bytes, size, count, context in
                let transfer = Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue()
                return transfer.giveBody(UnsafeMutableRawBufferPointer(start: bytes, count: size * count))
            }
        }
        if endedServers != nil {
            handle.setOnSocket(context) { context, socket, _ in
                Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue().sockets.append(socket)
                return 0
            }
        }
        handle.set(SHIMS_CURLOPT_PREREQDATA, context)
        handle.setBeforeRequest { context, server, own, serverPort, ownPort in
            let transfer = Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue()
            if let server, let own { transfer.check(server, serverPort, own, ownPort) }
            return transfer.beginRequest(ownPort) ? 0 : 1
        }
    }

    private func takeHeader(_ line: UnsafeRawBufferPointer) -> Bool {
        hasReceived = true
        guard !header.take(line) else {
            if let download, let head = header.response, continuation != nil { begin(head, download) }
            return true
        }
        if header.isTooLong { exceeded = .header }
        return false
    }

    /// Returns the number of bytes that were taken, 0 to end the transfer, or `SHIMS_CURL_PAUSE`.
    private func takeBody(_ bytes: UnsafeRawBufferPointer) -> Int {
        hasReceived = true
        if let download {
            guard let isTaken = try? download.put(bytes, orWake: { [self] in resume(self) }) else { return 0 }
            return isTaken ? bytes.count : Int(SHIMS_CURL_PAUSE.rawValue)
        }
        guard bytes.count <= request.limits.bodyBytes - body.count else {
            exceeded = .body
            return 0
        }
        body.append(contentsOf: bytes)
        return bytes.count
    }

    /// Returns the number of bytes that are to be sent, 0 at their end, `SHIMS_CURL_READ_ABORT` or `SHIMS_CURL_PAUSE`.
    private func giveBody(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
        guard let upload, !serverHasEnded else { return 0 }
        do {
            let bytes = try upload.body.take(atMost: buffer.count, reading: upload.reading) { [self] in resume(self) }
            guard let bytes else { return Int(SHIMS_CURL_PAUSE.rawValue) }
            buffer.copyBytes(from: bytes)
            return bytes.count
        } catch {
            return Int(SHIMS_CURL_READ_ABORT.rawValue)
        }
    }

    private func check(
        _ server: UnsafePointer<CChar>, _ serverPort: Int32, _ own: UnsafePointer<CChar>, _ ownPort: Int32
    ) {
        guard let serverCheck else { return }
        switch serverCheck.answer(about: server, serverPort, from: own, ownPort) {
        case .users(let users): foreignUser = users.first { !serverCheck.accepts($0) }
        case .unknown:
            let server = UnknownServer.Address(address: String(cString: server), port: serverPort)
            // On a kept connection, its server has answered before, so there was a socket at the other end. No other gets what
            // is sent there now.
            guard server != confirmed, handle?.hasKeptConnection != true else { return }
            (foreignUser, unknownServer) = (.max, server)
        }
    }

    /// Returns whether the request may be sent. If a kept connection gives no response, libcurl sends the request
    /// again, even if it must not be repeated. The server may have acted before the connection broke.
    private func beginRequest(_ ownPort: Int32) -> Bool {
        guard foreignUser == nil, !requestBegan || request.mayBeRepeated else { return false }
        if let endedServers {
            // The others were attempts to reach another address of the host.
            guard let socket = sockets.last(where: { shims_local_port($0) == ownPort }),
                endedServers.watch(socket, of: self)
            else { return false }
        }
        requestBegan = true
        return true
    }
}

extension HTTPResponse {
    /// Returns the response without the fields that describe the encoded body, if a body was decoded.
    fileprivate func describing(decoded method: HTTPRequest.Method) -> HTTPResponse {
        guard method != .head, headerFields.contains(.contentEncoding) else { return self }
        var response = self
        response.headerFields[.contentEncoding] = nil
        response.headerFields[.contentLength] = nil
        return response
    }
}

/// The failure of a transfer to a server that the kernel does not know. It can be tried again once the server was found to be in
/// another network namespace.
struct UnknownServer: Error {
    struct Address: Sendable, Equatable {
        let address: String
        let port: Int32
    }

    let server: Address
    let error: AuthError
}

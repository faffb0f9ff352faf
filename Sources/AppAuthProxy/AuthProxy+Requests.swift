internal import AppAuth
internal import AppAuthConcurrency
internal import AppAuthProtocol
internal import HTTPTypes
internal import JOSE

extension AuthProxy {
    /// Serves the requests of a connection, one after another, and closes it.
    func serve(_ socket: ClientSocket) async {
        defer { socket.close() }
        let reader = RequestReader(socket)
        do {
            while let head = try await reader.head() {
                guard try await respond(to: head, reader, socket) else { return await socket.seeOff() }
            }
        } catch let refusal as RequestHead.Refusal {
            guard (try? await socket.send(ProxyResponse(refusal).bytes(for: nil))) != nil else { return }
            await socket.seeOff()
        } catch {
            // The client or the server is gone, or the proxy ends. The client sees the end of the connection.
        }
    }

    /// Throws if the server of a page is another user's: on loopback, any user can serve an origin, if only at one of two
    /// addresses, or once its server has ended.
    private func checkServer(of origin: String?) async throws(ProxyResponse) {
        guard let origin, let url = try? SecureURL(origin), url.scheme == "http" else { return }
        let environment = (try? await session())?.environment ?? .live
        do { _ = try environment.checkServer(at: url.host, url.port ?? 80, .resource) } catch {
            throw ProxyResponse(403, "foreign_origin", "The page: \(error.message).")
        }
    }

    /// Responds to a request. Returns whether the connection can have another one.
    private func respond(to head: RequestHead, _ reader: RequestReader, _ socket: ClientSocket) async throws -> Bool {
        let origin = rules.foreignOrigin(of: head)
        let (request, handshake): (HTTPRequest, WebSocketHandshake?)
        do {
            (request, handshake) = (try rules.request(for: head), try WebSocketHandshake(head))
            try await checkServer(of: origin)
        } catch {
            try await socket.send(error.bytes(for: head, readableBy: origin))
            return false
        }
        let framing = try BodyFraming(head)
        if let origin, request.method == .options, head["access-control-request-method"] != nil {
            try await reader.copyBody(framing, to: nil)
            try await socket.send(ResponseHead.preflight(head, from: origin))
            return head.mayBeFollowed
        }
        // The content of a HEAD has no meaning (RFC 9110 §9.3.2), so it is read and dropped.
        let hasBody = framing != .noBody && request.method != .head
        var body = RequestStream(body: hasBody || handshake != nil ? BytePipe(keeping: Self.keptBytes) : nil)
        if hasBody, case .length(let length) = framing { body.length = length }
        body.expectsContinue = hasBody && head["expect"] != nil && !head.isVersion10
        let response = ClientResponse(on: socket)
        let (keepsOpen, stream) = try await withThrowingTaskGroup(of: (Bool, ResponseStream?).self) { [body] group in
            group.addTask { [self] in
                let incoming = await pass(request, body, handshake)
                switch incoming {
                case .success(let incoming):
                    let isWebSocket = incoming.status == .switchingProtocols
                    if handshake != nil, !isWebSocket { body.body?.finish() }
                    let head = ResponseHead(incoming.head, to: head, from: rules.server, readableBy: origin)
                    try await response.send(head, incoming.stream)
                    return (head.keepsOpen, isWebSocket ? incoming.stream : nil)
                case .failure(let own):
                    try await response.send(own.bytes(for: head, readableBy: origin))
                    return (false, nil)
                }
            }
            // The client's side. Its end ends the request.
            group.addTask {
                do { try await Self.copy(body, framing, from: reader, response) } catch let error as RequestHead.Refusal
                {
                    try await response.send(ProxyResponse(error).bytes(for: head, readableBy: origin))
                    return (false, nil)
                }
                try await socket.end()
                throw ClientSocket.Gone()
            }
            defer { group.cancelAll() }
            return try await group.next() ?? (false, nil)
        }
        if let stream, let upload = body.body {
            try await passBytes(from: reader, to: upload, and: stream, to: socket)
            return false
        }
        return keepsOpen && reader.isBetweenRequests
    }

    private static func copy(
        _ body: RequestStream, _ framing: BodyFraming, from reader: RequestReader, _ response: ClientResponse
    ) async throws {
        if body.expectsContinue {
            try await body.body?.requested()
            try response.sendContinue()
        }
        // A WebSocket's bytes come later.
        try await reader.copyBody(framing, to: framing == .noBody ? nil : body.body)
    }

    /// Sends a request with the token, and returns the server's response, or one in its place.
    private func pass(
        _ head: HTTPRequest, _ body: RequestStream, _ handshake: WebSocketHandshake?
    ) async -> Result<TransportResponse, ProxyResponse> {
        var request = TransportRequest(head, limits: .stream)
        request.stream = body
        do {
            let state = try await session()
            guard state.environment.transport is CurlTransport else { throw Self.wrongTransport }
            let response = try await state.send(request)
            if response.status == .switchingProtocols { try handshake?.check(response.head) }
            guard let challenge = response.stepUpChallenge else { return .success(response) }
            return .failure(
                ProxyResponse(
                    403, "step_up_required",
                    "\(rules.server.shownHost) requires another sign-in: \(challenge.demand(challenge.scope)).",
                    remedy: await remedy(challenge)))
        } catch let own as ProxyResponse {
            return .failure(own)
        } catch {
            let error = error as? AuthError ?? AuthError(.transport, .resource, "the request was ended early")
            return .failure(ProxyResponse(error, remedy: error.needsSignIn ? await remedy(nil) : nil))
        }
    }

    /// Passes the bytes of a WebSocket on, in both directions, until one side has ended.
    private func passBytes(
        from reader: RequestReader, to upload: BytePipe, and stream: ResponseStream, to socket: ClientSocket
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { while let bytes = try await stream.body.read() { try await socket.send(bytes) } }
            group.addTask {
                while let bytes = try await reader.bytes() { try await upload.write(bytes) }
                // The server gets the last bytes, responds to them, and ends its side (RFC 6455 §7.1.1).
                try await Task.sleep(for: .seconds(5))
            }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    private static let wrongTransport = AuthError(
        .invalidConfiguration, .configuration, "expected a session with a CurlTransport, found another transport")

    /// How much of a request's body is kept, to send it once more with another token.
    private static let keptBytes = 1 << 20
}

extension HTTPLimits {
    /// No limit but that of the head, and the time to connect.
    fileprivate static let stream = HTTPLimits(
        bodyBytes: .max, headerBytes: 64 << 10, total: .seconds(1 << 32), connect: .seconds(10))
}

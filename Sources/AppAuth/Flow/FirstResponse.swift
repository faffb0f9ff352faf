internal import AppAuthConcurrency
internal import AppAuthProtocol

/// The first response to a request, either from the browser through the listener or pasted by the user. Any later
/// response is ignored.
struct FirstResponse: Sendable {
    typealias Response = Result<AuthorizationResponse, AuthError>
    /// Returns what a query means, or nil if it is not the response.
    typealias Matcher = @Sendable (_ query: String) -> Response?

    let request: AuthorizationRequest
    /// Called when a pasted text is not the response, with the reason.
    let refuse: @Sendable (AuthError) -> Void
    private let isThere = LockedValue(false)

    init(to request: AuthorizationRequest, refuse: @escaping @Sendable (AuthError) -> Void) {
        (self.request, self.refuse) = (request, refuse)
    }

    /// Waits for the response.
    ///
    /// - Parameter listen: Waits for a redirect that the matcher recognises.
    /// - Throws: Errors thrown by `listen` or by the source of the pasted texts.
    func wait(
        pasted: AsyncThrowingStream<String, any Error>?,
        listen: @escaping @Sendable (@escaping Matcher) async throws -> Response
    ) async throws -> Response {
        guard let pasted else { return try await listen { request.response(toQuery: $0) } }
        return try await withThrowingTaskGroup(of: Response?.self) { group in
            group.addTask { try await listen { query in request.response(toQuery: query).flatMap(claim) } }
            group.addTask { try await response(from: pasted) }
            defer { group.cancelAll() }
            // The wait goes on if the stream of pasted texts ends.
            while let ended = try await group.next() {
                if let ended { return ended }
            }
            throw CancellationError()
        }
    }

    private func response(from pasted: AsyncThrowingStream<String, any Error>) async throws -> Response? {
        do {
            for try await text in pasted where text.contains(where: { !$0.isWhitespace }) {
                do {
                    let response = try request.response(fromPasted: text)
                    return claim(.success(response))
                } catch let error as AuthError where error.code == .wrongPaste {
                    refuse(error)
                } catch let error as AuthError {
                    return claim(.failure(error))
                }
            }
            return nil
        } catch {
            // The app ends the sign-in by throwing here, unless the browser's response came first.
            guard claim() else { return nil }
            throw error
        }
    }

    private func claim(_ response: Response) -> Response? { claim() ? response : nil }

    private func claim() -> Bool {
        isThere.withLock { isThere in
            defer { isThere = true }
            return !isThere
        }
    }
}

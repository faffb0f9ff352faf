internal import AppAuthProtocol
internal import JOSE

/// The first response to a request, by whichever way it comes: from the browser to the listener, or from the person who
/// pastes it. There is one at most: what comes second changes nothing.
struct FirstResponse: Sendable {
    typealias Answer = Result<AuthorizationResponse, AuthError>
    /// Says what a query means: nil for one that is not the response.
    typealias Matcher = @Sendable (_ query: String) -> Answer?

    let request: AuthorizationRequest
    /// Told why a pasted text is not the response.
    let refuse: @Sendable (AuthError) -> Void
    private let isThere = LockedValue(false)

    init(to request: AuthorizationRequest, refuse: @escaping @Sendable (AuthError) -> Void) {
        (self.request, self.refuse) = (request, refuse)
    }

    /// Waits for it.
    ///
    /// - Parameter listen: Waits for a redirect that the judge recognises.
    /// - Throws: What `listen` or the source of the texts throws.
    func wait(
        pasted: AsyncThrowingStream<String, any Error>?,
        listen: @escaping @Sendable (@escaping Matcher) async throws -> Answer
    ) async throws -> Answer {
        guard let pasted else { return try await listen { request.response(toQuery: $0) } }
        return try await withThrowingTaskGroup(of: Answer?.self) { group in
            group.addTask { try await listen { query in request.response(toQuery: query).flatMap(claim) } }
            group.addTask { try await response(from: pasted) }
            defer { group.cancelAll() }
            // The end of what is pasted ends nothing.
            while let ended = try await group.next() {
                if let ended { return ended }
            }
            throw CancellationError()
        }
    }

    private func response(from pasted: AsyncThrowingStream<String, any Error>) async throws -> Answer? {
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
            // The app has ended the sign-in, unless the browser was there before.
            guard claim() else { return nil }
            throw error
        }
    }

    private func claim(_ response: Answer) -> Answer? { claim() ? response : nil }

    private func claim() -> Bool {
        isThere.withLock { isThere in
            defer { isThere = true }
            return !isThere
        }
    }
}

extension AuthorizationRequest {
    /// What a query means for the wait: nil goes on.
    fileprivate func response(toQuery query: String) -> Result<AuthorizationResponse, AuthError>? {
        do { return try response(fromQuery: query).map(Result.success) } catch {
            return .failure(
                error as? AuthError ?? AuthError(.invalidRedirect, .redirect, "the redirect could not be read"))
        }
    }
}

internal import AppAuthProtocol

/// How an app lets go of a session.
extension AuthState {
    /// Waits until a refresh that was sent has ended and its refresh token is stored, but no longer than the limit. Brings
    /// once more to the store what it has refused.
    ///
    /// Call it before a process ends in which a caller was cancelled: callers leave at once, and the refresh that they
    /// leave behind has used up its refresh token. It waits in a cancelled task too. It does not wait for a refresh that has
    /// sent nothing, nor for the verification of what came.
    ///
    /// - Parameter limit: The default is more than a refresh takes whose every request times out (30 s each).
    public func settle(atMost limit: Duration = .seconds(90)) async {
        guard machine.isExposed || registering?.running != nil || machine.isUnsaved || revoking != nil else { return }
        let (ends, end) = AsyncStream.makeStream(of: Never.self)
        Task {
            if machine.isExposed { await withCheckedContinuation { settling.append($0) } }
            await registering?.settle()
            _ = try? await perform(.save)
            await revoking?.value
            end.finish()
        }
        let clock = Task {
            try await Task.sleep(for: limit)
            end.finish()
        }
        await Task { for await _ in ends {} }.value
        clock.cancel()
    }

    /// Ends the session here and removes it from the store; no response that is still to come brings it back, here or in
    /// another process. A newer session in its place stays.
    ///
    /// The provider is not told: see ``revokeTokens()`` and ``EndSessionRequest``. Only what a refresh has brought since
    /// ``revokeTokens()`` is revoked, too.
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/store`` if it could not be removed; `CancellationError` if the task was
    ///   cancelled and the store has not removed it, or the provider has not been told, within two seconds. Memory has
    ///   forgotten it anyway.
    public func forget() async throws { try await forget(because: "signed out") }

    func forget(because reason: String) async throws {
        let id = newID()
        // A caller that is cancelled while it signs out is signed out all the same, unless the store takes longer than a
        // caller that wants to leave can wait.
        _ = try await withTaskCancellationHandler {
            try await outcome(of: id) { take(.begin(id, .signOut(reason: reason))) }
        } onCancel: {
            Task {
                try await Task.sleep(for: .seconds(2))
                await self.leave(id)
            }
        }
    }

    private func leave(_ id: SessionMachine.ID) {
        take(.leave(id))
        // The store has removed it, and the provider is being told.
        waiting.removeValue(forKey: id)?.resume(throwing: CancellationError())
    }
}

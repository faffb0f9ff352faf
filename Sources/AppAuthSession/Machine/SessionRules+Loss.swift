internal import AppAuthProtocol

extension SessionRules {
    /// What would be lost with a result that the store has rejected, if it were dropped.
    enum Loss {
        /// A new refresh token, or all of a session that was never stored.
        case refreshToken
        /// The end of the session.
        case end
        /// New tokens that can be fetched again: the store has the refresh token.
        case onlyAccessToken
        /// The record of a failure, which is only a pause.
        case onlyPause
        /// Nothing, because the result is void: the session was signed out, or memory has a later sign-in or refresh token.
        case nothing
    }

    /// Returns what would be lost with a result that the store has rejected.
    ///
    /// - Parameters:
    ///   - decision: The decision about the result, with the session in memory in place of the stored one.
    ///   - before: The session in memory.
    ///   - after: The session in memory, with the result.
    ///   - known: What this process knew when it made the call.
    static func loss(
        of decision: Decision, from before: AuthStateRecord, to after: AuthStateRecord, _ known: Knowledge
    ) -> Loss {
        if before.end != nil || decision.isToDecideAgain { return .nothing }
        if after.end != nil { return .end }
        guard known.wasStored, known.record.refreshToken == after.refreshToken else { return .refreshToken }
        return decision.isRenewal ? .onlyAccessToken : .onlyPause
    }
}

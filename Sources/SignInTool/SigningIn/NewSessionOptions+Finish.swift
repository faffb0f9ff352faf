internal import AppAuth
internal import FoundationEssentials
internal import JOSE

extension NewSessionOptions {
    /// Ends a command that has signed in: notes the session, prints it, and lets the revocations of earlier tokens finish.
    func finish(
        _ state: AuthState, in store: any TokenStore, userinfo: JSON? = nil, _ console: Console,
        until deadline: ContinuousClock.Instant
    ) async throws -> Int32 {
        let record = await state.record
        note(record, in: store, console)
        var result = record.summary
        result["userinfo"] = userinfo
        try console.succeed(.object(result), text: text(record, userinfo))
        await state.finishRevoking(before: deadline)
        return 0
    }

    private func text(_ record: AuthStateRecord, _ userinfo: JSON?) -> String {
        let name = profile.map { ", with the profile \($0.name)" } ?? ""
        var lines = ["Signed in at \(record.client.provider.issuer) as \(record.userDescription)\(name)."]
        if let date = record.accessToken?.expiresAt {
            lines.append("The access token is valid until \(date.ISO8601Format()).")
        }
        lines.append(
            record.renewsItself ? "The session is refreshed when needed." : "There is no refresh token.")
        if let scope = record.scopeNotGranted.spaceDelimited {
            lines.append("The provider has not granted these scopes: \(scope.foundText).")
        }
        if let userinfo { lines += userinfo.lines }
        return lines.map(\.onOneLine).joined(separator: "\n")
    }
}

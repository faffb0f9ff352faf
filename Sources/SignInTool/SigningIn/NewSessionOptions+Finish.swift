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
        // The other sessions are read only for people.
        let namesake = console.json ? nil : await namesake(of: record, in: store)
        try console.succeed(.object(result), text: text(record, namesake, userinfo))
        await state.finishRevoking(before: deadline)
        return 0
    }

    /// Another profile with the same session. A browser that is signed in chooses the user, who may have meant another account.
    private func namesake(of record: AuthStateRecord, in store: any TokenStore) async -> Profile? {
        guard let profile, let stores = try? StateFolder.storesWithProfiles() else { return nil }
        // A keyring that has just stored this session responds. Another one could keep the user waiting.
        let others = stores.filter { other in
            other.profile != nil && other.profile != profile
                && (store is KeyringTokenStore || !(other.store is KeyringTokenStore))
        }
        guard let entries = try? await StateFolder.entries(others) else { return nil }
        return entries.first { entry in
            guard let other = try? entry.record.get(), other.end == nil else { return false }
            return record.isOfUser(of: other) == true && other.client.id.isExactly(record.client.id)
                && other.resources == record.resources
                && other.scope == record.scope
        }?.profile
    }

    private func text(_ record: AuthStateRecord, _ namesake: Profile?, _ userinfo: JSON?) -> String {
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
        if let namesake {
            lines.append(
                "The profile \(namesake.name) is signed in as the same user. For another account, sign in with: "
                    + "\(SignInLine(["login", "--profile", profile?.name ?? "", "--prompt", "select_account"]).shellLine)"
            )
        }
        if let userinfo { lines += userinfo.lines }
        return lines.map(\.onOneLine).joined(separator: "\n")
    }
}

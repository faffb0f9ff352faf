internal import AppAuth
internal import JOSE

extension Logout {
    /// Signs out of all sessions. They are over here before the first browser opens, since a browser may not come back.
    func signOutOfAll(until deadline: ContinuousClock.Instant, _ console: Console) async throws -> Int32 {
        // A session that takes all of its time leaves the others theirs.
        func share(of count: Int) -> Duration { max(.zero, ContinuousClock.now.duration(to: deadline)) / count }
        var (ended, failures) = ([SignedOut](), [(location: String, error: AuthError)]())
        let stores = try StateFolder.storesWithProfiles()
        let known = stores.map { try? $0.profile?.known }
        for (index, (store, profile)) in stores.enumerated() {
            do {
                let limit = share(of: stores.count - index)
                let signedOut = try await signOut(
                    of: store.within(limit), of: profile, within: limit, endsBrowserSession: false, console)
                if signedOut.hadSession { ended.append(signedOut) }
                let isDamaged = profile?.isDamaged == true
                // As in ``run(_:limit:)``.
                let isBack = signedOut.hadSession ? try await store.load() != nil : false
                if forget, !isBack, (try? profile?.known)?.id == known[index]?.id { try profile?.forget() }
                // The session of a damaged profile may be elsewhere.
                guard isDamaged, !signedOut.hadSession, let profile else { continue }
                if forget { throw profile.hasLostItsSession }
                _ = try profile.signIn
            } catch let error as AuthError { failures.append((store.shownLocation, error)) }
        }
        if endsBrowserSession {
            for index in ended.indices {
                ended[index] = try await endBrowserSession(
                    ended[index], within: share(of: ended.count - index), console)
            }
        }
        return try report(ended, failures, console)
    }

    private func report(
        _ ended: [SignedOut], _ failures: [(location: String, error: AuthError)], _ console: Console
    ) throws -> Int32 {
        let failed = failures.map { location, error in
            (location, error, message: error.message(for: ["--store", location]))
        }
        let sessions = ended.map { signedOut in
            var json = signedOut.json
            json["store"] = .string(signedOut.location)
            return JSON.object(json)
        }
        let result: JSON.Object = [
            "sessions": .array(
                sessions + failed.map { ["store": .string($0), "error": Console.json($1.code.rawValue, $2)] })
        ]
        guard let last = failed.last else {
            let count = ended.count == 1 ? "1 session" : "\(ended.count) sessions"
            try console.succeed(.object(result), text: "Signed out of \(count).")
            return 0
        }
        for (_, _, message) in failed.dropLast() { console.note(message) }
        console.fail(code: last.1.code.rawValue, last.message, with: result)
        return 1
    }
}

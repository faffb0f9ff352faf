internal import AppAuth
internal import AppAuthConcurrency

/// The loop of `sign-in watch`: it reads the sessions, does what is due, and rests until the next moment or the next change.
struct Watcher {
    private struct Session: Sendable {
        var store: any TokenStore
        var record: AuthStateRecord
        var schedule: WatchSchedule
        var lock: WatchLock?
        /// A session whose new tokens the store has rejected. They are nowhere else.
        var unsaved: AuthState?
    }

    private let profiles: [Profile]
    private let console: Console
    private let limit: Duration
    private let notifier: WatchNotifier
    private var sessions: [Profile: Session] = [:]
    /// Whether a session could not be read, so that it is read again without being asked.
    private var isUnsure = false

    /// - Parameters:
    ///   - profiles: The profiles; empty for all.
    ///   - limit: How long the store may be busy.
    init(_ profiles: [Profile], telling notifier: WatchNotifier, _ console: Console, limit: Duration) {
        (self.profiles, self.notifier, self.console, self.limit) = (profiles, notifier, console, limit)
    }

    private var environment: Environment { console.environment }

    /// Runs until the task is cancelled.
    mutating func run() async throws {
        let changes = try StoreChanges(in: StateFolder().path, continuing: WatchRest.atStart?.changes)
        if let problem = changes.problem {
            console.say("This command notices changes by other programs within a minute: \(problem).")
        }
        notifier.onQuiet { changes.report() }
        defer { for profile in sessions.keys { notifier.withdraw(profile) } }
        while true {
            // Before the sessions are read, so that no change is missed.
            let change = changes.subscribe()
            let next = try await lookAfterSessions()
            let delay = changes.problem == nil ? next : min(next, .seconds(60))
            if changes.problem == nil, delay > .seconds(2), isResting {
                await WatchRest.begin(for: delay, changes: changes.descriptor)
                try Task.checkCancellation()
            }
            let began = (now: environment.now(), awake: SuspendingClock.now)
            try await firstResult { [environment] in
                try await environment.sleep(max(delay, .seconds(1)))
            } or: {
                for await _ in change { return }
                try await Task.sleep(for: .seconds(86_400))
            }
            // All machines of an office wake at the same time, and their network only a moment later.
            let passed = began.now.elapsed(until: environment.now()) ?? .zero
            if passed - (SuspendingClock.now - began.awake) > .seconds(30) {
                try await environment.sleep(.seconds(60) * environment.jitter())
            }
        }
    }

    /// Whether nothing is known here but what is stored: neither tokens, nor a failure, nor a notification that waits.
    private var isResting: Bool {
        !isUnsure && notifier.isQuiet && sessions.values.allSatisfy { $0.unsaved == nil && $0.schedule.isResting }
    }

    /// Does what is due, and returns the time to the next moment.
    private mutating func lookAfterSessions() async throws -> Duration {
        try await read()
        let now = environment.now()
        let known = Array(sessions.keys)
        let due = known.filter { sessions[$0]?.schedule.timeToRefresh(at: now) == .zero && isOurs($0) }
        if !due.isEmpty {
            try await refresh(due)
            try await read()
        }
        return await remind(at: environment.now())
    }

    /// Returns whether this process looks after a session.
    private mutating func isOurs(_ profile: Profile) -> Bool {
        if sessions[profile]?.lock == nil {
            do {
                guard let lock = try WatchLock.take(for: profile) else { return false }
                sessions[profile]?.lock = lock
                sessions[profile]?.schedule.note = lock.note
            } catch {
                console.sayOnce("sign-in: \((error as? AuthError)?.message ?? "\(error)")")
            }
        }
        return sessions[profile]?.lock != nil
    }

    private mutating func read() async throws {
        let watched = profiles.isEmpty ? try Profile.all() : profiles
        let stores = try watched.map { (store: try $0.likelyStore.within(limit).unattended, profile: Optional($0)) }
        let entries = try await StateFolder.entries(stores)
        var missing = Set(sessions.keys)
        isUnsure = false
        for entry in entries {
            guard let profile = entry.profile else { continue }
            missing.remove(profile)
            switch entry.record {
            case .success(let record):
                var session =
                    sessions[profile]
                    ?? Session(store: entry.store, record: record, schedule: WatchSchedule(record))
                (session.store, session.record) = (entry.store, record)
                session.schedule.update(record)
                sessions[profile] = session
            case .failure(let error):
                isUnsure = true
                console.sayOnce("sign-in: \(profile.name): \(error.message)")
            }
        }
        // The user has signed out, or forgotten the profile.
        for profile in missing {
            sessions[profile] = nil
            notifier.withdraw(profile)
        }
    }

    private mutating func refresh(_ due: [Profile]) async throws {
        let results = try await withThrowingTaskGroup(of: (Profile, AuthState?, AuthError?).self) { group in
            for (profile, session) in due.compactMap({ profile in sessions[profile].map { (profile, $0) } }) {
                group.addTask { [environment] in
                    let (unsaved, error) = try await Self.refresh(session, environment)
                    return (profile, unsaved, error)
                }
            }
            var results: [(Profile, AuthState?, AuthError?)] = []
            for try await result in group { results.append(result) }
            return results
        }
        let now = environment.now()
        for (profile, unsaved, error) in results {
            sessions[profile]?.unsaved = unsaved
            if let error { sessions[profile]?.schedule.fail(error, at: now) }
        }
    }

    /// Refreshes the token, unless another process has done so since. However many processes do this, the provider gets one
    /// refresh.
    ///
    /// - Returns: The session, if the store has not accepted its new tokens, and the error.
    private static func refresh(
        _ session: Session, _ environment: Environment
    ) async throws -> (unsaved: AuthState?, error: AuthError?) {
        var known = session.unsaved
        var failure: AuthError?
        do {
            if known == nil { known = try await StateFolder.restore(session.store, environment) }
            let validity = session.schedule.validityOfNewToken(at: environment.now())
            // Without a known validity, there is no other way to ask for a new token.
            _ = try await known?.freshAccessToken(minimumValidity: validity, forceRefresh: validity == nil)
        } catch let error as AuthError { failure = error } catch {
            // The provider may have replaced the refresh token already.
            await known?.settle()
            throw error
        }
        guard let state = known, await state.hasUnsavedTokens else { return (nil, failure) }
        await state.settle()
        return (await state.hasUnsavedTokens ? state : nil, failure)
    }

    /// Tells the user what is new, and returns the time to the next moment.
    private mutating func remind(at now: Timestamp) async -> Duration {
        // A sign-in in a store elsewhere, for example in the keyring, changes nothing that is noticed at once.
        let isAwaited = sessions.values.contains { $0.schedule.need(at: now) != nil }
        var delay = Duration.seconds(isUnsure || isAwaited ? 15 * 60 : 30 * 86_400)
        for profile in sessions.keys {
            let isOurs = isOurs(profile)
            let isNeeded = sessions[profile]?.schedule.need(at: now) != nil
            if !isNeeded { notifier.withdraw(profile) }
            let former = sessions[profile]?.schedule.note
            if isOurs || !isNeeded, let reminder = sessions[profile]?.schedule.remind(at: now) {
                await tell(profile, reminder)
            }
            if let note = sessions[profile]?.schedule.note, note != former { sessions[profile]?.lock?.note = note }
            guard let next = sessions[profile]?.schedule.delay(at: now) else { continue }
            // If the process that looks after the session has ended, this one takes its place.
            delay = min(delay, isOurs ? next : next + .seconds(60))
        }
        return delay
    }

    private func tell(_ profile: Profile, _ reminder: WatchSchedule.Reminder) async {
        guard let session = sessions[profile] else { return }
        var options = SessionOptions()
        (options.profile, options.issuer, options.clientID, options.store) = (profile, nil, nil, nil)
        let source = await session.record.signInToSource
        let line = source ?? (try? options.line(session.store, session.record, console))
        notifier.send(
            WatchEvent(
                reminder: reminder, profile: profile, record: session.record,
                signIn: line ?? SignInLine([SignInLine.commands[0], "--profile", profile.name])))
    }
}

extension TokenStore {
    /// The store without questions to the user, who may not be there.
    fileprivate var unattended: any TokenStore {
        guard var keyring = self as? KeyringTokenStore else { return self }
        keyring.mayPrompt = false
        return keyring
    }
}

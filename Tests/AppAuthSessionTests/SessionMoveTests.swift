import AppAuth
import AppAuthConcurrency
import AppAuthProtocol
import AppAuthSession
import JOSE
import TestFixtures
import Testing

/// A session that moves from one store to another is only ever used from one of them, even after a crash.
@Suite(.timeLimit(.minutes(5)))
struct SessionMoveTests {
    /// Two moves in opposite directions would wait for each other otherwise.
    @Test(arguments: [true, false])
    func `a move takes the two locks in the same order in both directions`(isForth: Bool) async throws {
        let notes = LockedValue<[String]>([])
        let provider = try ProviderMetadata(
            issuer: "https://op.example", endpoints: [.token: "https://op.example/token"])
        let record = try AuthStateRecord(
            client: Client(id: "client", provider: provider), accessToken: nil, refreshToken: Secret("refresh"))
        let one = NotedStore(base: MemoryTokenStore(isForth ? record : nil), location: "one", notes: notes)
        let two = NotedStore(base: MemoryTokenStore(isForth ? nil : record), location: "two", notes: notes)
        let (source, target) = isForth ? (one, two) : (two, one)
        #expect(try await source.moveSession(to: target))
        #expect(notes.withLock { $0 } == ["one", "two"])
    }

    struct Failure: Error {}

    private let source = MemoryTokenStore()
    private let target = MemoryTokenStore()

    private func record(_ name: String = "client") throws -> AuthStateRecord {
        let provider = try ProviderMetadata(
            issuer: "https://op.example", endpoints: [.token: "https://op.example/token"])
        return try AuthStateRecord(
            client: Client(id: name, provider: provider), accessToken: nil, refreshToken: Secret("refresh"))
    }

    @discardableResult
    private func move(
        _ interruption: Interruption = Interruption(after: 0) {}, isBefore: Bool = false, isBack: Bool = false
    ) async throws -> Bool {
        let stores = [("source", source), ("target", target)].map { location, base in
            InterruptedStore(base: base, location: location, interruption: interruption, isBefore: isBefore)
        }
        return try await stores[isBack ? 1 : 0].moveSession(to: stores[isBack ? 0 : 1])
    }

    /// Which stores have a session that can be used.
    private func usable() async throws -> [String] {
        var found: [String] = []
        for (name, store) in [("source", source), ("target", target)] {
            do {
                let state = try await AuthState(restoring: store, environment: .live)
                if let state, await state.record.end == nil { found.append(name) }
            } catch let error as AuthError {
                #expect(error.code == .store && error.storeProblem == .moving && error.isTemporary)
            }
        }
        return found
    }

    @Test func `a session is moved once and completely, and without one nothing happens`() async throws {
        #expect(try await !move())
        let record = try record()
        await source.put(record)
        #expect(try await move())
        #expect(await source.load() == nil)
        #expect(await target.load() == record)
        #expect(try await !move())
        #expect(await target.load() == record)
        // Nor does it go to where it is already.
        #expect(try await !target.moveSession(to: target))
    }

    @Test(arguments: 1...4, [true, false])
    func `after a failure at any step the session is usable in at most one store, and the next call completes the move`(
        step: Int, isBefore: Bool
    ) async throws {
        let record = try record()
        await source.put(record)
        await #expect(throws: AuthError.self) {
            try await move(Interruption(after: step) { throw Failure() }, isBefore: isBefore)
        }
        let done = isBefore ? step - 1 : step
        #expect(try await usable() == [["source"], ["source"], [], ["target"], ["target"]][done])
        #expect(try await move() == (done < 4))
        #expect(await source.load() == nil)
        #expect(await target.load() == record)
    }

    /// A database can lose the locks of a move, so that another process takes its last step.
    @Test func `a session whose move another process has completed stays in the target`() async throws {
        let record = try record()
        await source.put(record)
        let hasMoved = try await move(Interruption(after: 3) { [source] in await source.put(nil) })
        #expect(hasMoved)
        #expect(await target.load() == record)
    }

    /// The opposite move has lost its locks, too, or its process has died.
    @Test func `a session that another process has begun to move back stays in the target`() async throws {
        let record = try record()
        await source.put(record)
        var copy = record
        copy.move = .arriving(from: "target")
        let interruption = Interruption(after: 3) { [source, copy] in await source.put(copy) }
        #expect(await authError { try await move(interruption) }?.storeProblem == .moving)
        #expect(await target.load() == record)
    }

    @Test(arguments: 1...4)
    func `a moved session can be moved back after every failure`(step: Int) async throws {
        var record = try record()
        await source.put(record)
        await #expect(throws: AuthError.self) { try await move(Interruption(after: step) { throw Failure() }) }
        guard step >= 3 else {
            _ = await authError { try await move(isBack: true) }
            #expect(try await usable() == (step == 1 ? ["source"] : []))
            return
        }
        record.client = Client(id: "refreshed", provider: record.client.provider)
        await target.put(record)
        #expect(try await move(isBack: true))
        #expect(await source.load() == record)
        #expect(await target.load() == nil)
    }

    @Test func `a file left behind by another session is not overwritten`() async throws {
        var left = try record("other")
        left.move = .leaving(to: "target")
        let mine = try record()
        await source.put(left)
        await target.put(mine)
        await #expect(throws: AuthError.self) { try await move(isBack: true) }
        #expect(await source.load() == left)
        #expect(await target.load() == mine)
    }

    @Test func `tokens refreshed in the source after a failure are moved`() async throws {
        let record = try record()
        await source.put(record)
        await #expect(throws: AuthError.self) { try await move(Interruption(after: 1) { throw Failure() }) }
        var refreshed = record
        refreshed.client = Client(id: "refreshed", provider: record.client.provider)
        await source.put(refreshed)
        #expect(try await move())
        #expect(await target.load() == refreshed)
    }

    @Test func `changes in the source during the move are copied again`() async throws {
        let record = try record()
        await source.put(record)
        let changed = record.client.provider
        try await move(
            Interruption(after: 1) { [source] in
                try await source.update { $0?.client = Client(id: "changed", provider: changed) }
            })
        #expect(await target.load()?.client.id == "changed")
        #expect(await source.load() == nil)
    }

    /// After step 3 and with the mover gone it has arrived, and is signed out there.
    @Test(arguments: [(1, true), (1, false), (2, true), (2, false), (3, false)])
    func `a sign-out during the move is final, at every step`(step: Int, isCutOff: Bool) async throws {
        await source.put(try record())
        let state = try #require(try await AuthState(restoring: source, environment: .live))
        let interruption = Interruption(after: step) {
            try await state.forget()
            if isCutOff { throw Failure() }
        }
        if isCutOff {
            await #expect(throws: AuthError.self) { try await move(interruption) }
            #expect(try await usable() == [])
        } else {
            #expect(try await !move(interruption) || step == 2)
        }
        #expect(try await !move())
        #expect(await source.load() == nil)
        #expect(await target.load() == nil)
    }

    /// It is used from the target by then.
    @Test(arguments: [false, true])
    func `a sign-out in the source ends the moved session if the move died before its last step`(isBack: Bool)
        async throws
    {
        await source.put(try record())
        let state = try #require(try await AuthState(restoring: source, environment: .live))
        await #expect(throws: AuthError.self) { try await move(Interruption(after: 3) { throw Failure() }) }
        #expect(try await usable() == ["target"])
        try await state.forget()
        #expect(await source.load()?.refreshToken == nil)
        let error = await authError { try await state.freshAccessToken() }
        #expect(error?.code == .signInRequired)
        let again = try await AuthState(restoring: source, environment: .live)
        #expect(await again?.record.end != nil)
        let late = await authError { try await again?.freshAccessToken() }
        #expect(late?.code == .signInRequired)
        #expect(try await !move(isBack: isBack))
        #expect(await source.load() == nil)
        #expect(await target.load() == nil)
    }

    @Test(arguments: [2, 3])
    func `a new sign-in in the source during the move is moved`(step: Int) async throws {
        let new = try record("new")
        await source.put(try record())
        let hasMoved = try await move(Interruption(after: step) { [source] in await source.put(new) })
        #expect(hasMoved)
        #expect(await source.load() == nil)
        #expect(await target.load() == new)
    }

    /// Otherwise a disk that is not mounted would end the session.
    @Test func `a move that continues expects that each store has the session`() throws {
        func expects(_ effect: SessionMove.Effect) -> Bool {
            switch effect {
            case .load(_, let expectsSession), .change(_, _, let expectsSession): expectsSession
            case .lock, .end: false
            }
        }
        let record = try record()
        for isSignedOut in [false, true] {
            var move = SessionMove(from: "source", to: "target")
            var (here, there) = (record, record)
            (here.move, there.move) = (.leaving(to: "target"), .arriving(from: "source"))
            if isSignedOut { there.move = .signedOut(at: "source") }
            _ = move.begin()
            for input in [.loaded(here), .loaded(there), .locked, .locked] as [SessionMove.Input] {
                #expect(try !expects(move.next(input)))
            }
            let inputs =
                [.loaded(there)] + (isSignedOut ? [] : [.loaded(here), .changed(here)]) as [SessionMove.Input]
            for input in inputs { #expect(try expects(move.next(input))) }
        }
    }

    @Test func `a store that has another session is rejected as a target`() async throws {
        let (mine, other) = (try record(), try record("other"))
        await source.put(mine)
        await target.put(other)
        await #expect(throws: AuthError.self) { try await move() }
        #expect(await source.load() == mine)
        #expect(await target.load() == other)
    }

    @Test(
        arguments: [nil, AuthStateRecord.Move.leaving(to: "third"), .arriving(from: "third")])
    func `a target that is the source under another name is rejected and unchanged`(move: AuthStateRecord.Move?)
        async throws
    {
        var record = try record()
        record.move = move
        await source.put(record)
        let error = await authError { [source] in
            let nothing = Interruption(after: 0) {}
            return try await InterruptedStore(base: source, location: "here", interruption: nothing)
                .moveSession(to: InterruptedStore(base: source, location: "there", interruption: nothing))
        }
        #expect(error?.code == .store && error?.isTemporary == false, "\(String(describing: error))")
        #expect(error?.message.contains("another name") == true)
        #expect(await source.load() == record)
        try await source.refreshLock().release()
    }

    @Test func `one store under two names is detected while another process changes it`() async throws {
        let record = try record()
        await source.put(record)
        let error = await authError { [source] in
            try await ChangingStore(base: source, location: "here")
                .moveSession(to: ChangingStore(base: source, location: "there"))
        }
        #expect(error?.message.contains("another name") == true)
        #expect(await source.load()?.id == record.id)
    }

    @Test func `a target with a copy of the session is rejected`() async throws {
        let record = try record()
        await source.put(record)
        await target.put(record)
        await #expect(throws: AuthError.self) { try await move() }
        #expect(await source.load() == record)
        #expect(await target.load() == record)
    }

    @Test(arguments: 1...3)
    func `a new sign-in in the target wins over the session that is being moved there`(step: Int) async throws {
        let (mine, other) = (try record(), try record("other"))
        await source.put(mine)
        let interruption = Interruption(after: step) { [target] in
            await target.put(other)
            throw Failure()
        }
        await #expect(throws: AuthError.self) { try await move(interruption) }
        _ = try? await move()
        #expect(await target.load() == other)
        #expect(await source.load() == (step == 1 ? mine : nil))
    }

    @Test func `a move waits for a refresh in either store`() async throws {
        for busy in [source, target] {
            await source.put(try record())
            await target.put(nil)
            let lock = try await busy.refreshLock()
            let mover = Task { [self] in try await move() }
            try await waitUntil { busy.lockWaitingCount == 1 }
            #expect(await source.load()?.move == nil)
            #expect(await target.load() == nil)
            lock.release()
            #expect(try await mover.value)
            #expect(await source.load() == nil)
        }
    }

    @Test func `a move does not wait forever, and then moves nothing`() async throws {
        for busy in [source, target] {
            let record = try record()
            await source.put(record)
            let lock = try await busy.refreshLock()
            let nothing = Interruption(after: 0) {}
            let error = await authError { [source, target] in
                try await InterruptedStore(base: source, location: "source", interruption: nothing).moveSession(
                    to: InterruptedStore(base: target, location: "target", interruption: nothing),
                    waitingAtMost: .milliseconds(20))
            }
            #expect(error?.code == .store && error?.isTemporary == true)
            #expect(await source.load() == record)
            #expect(await target.load() == nil)
            lock.release()
            for store in [source, target] { try await store.refreshLock().release() }
        }
    }

    @Test func `a session that is being moved is neither refreshed nor read, but can be signed out`() async throws {
        await source.put(try record())
        let state = try #require(try await AuthState(restoring: source, environment: .live))
        await #expect(throws: AuthError.self) { try await move(Interruption(after: 2) { throw Failure() }) }
        let error = await authError { try await state.freshAccessToken() }
        #expect(error?.storeProblem == .moving)
        try await state.forget()
        let left = await source.load()
        #expect(left?.refreshToken == nil && left?.accessToken == nil && left?.end != nil)
        #expect(try await !move())
        #expect(await source.load() == nil)
        #expect(await target.load() == nil)
    }

    @Test func `a sign-out during the move leaves no client secret`() async throws {
        var record = try record()
        let secret = "the client's own secret"
        record.client = Client(
            id: record.client.id, authentication: .clientSecretBasic(Secret(secret)), provider: record.client.provider)
        #expect(String(decoding: try record.encoded(), as: UTF8.self).contains(secret))
        await source.put(record)
        let state = try #require(try await AuthState(restoring: source, environment: .live))
        await #expect(throws: AuthError.self) { try await move(Interruption(after: 2) { throw Failure() }) }
        try await state.forget()
        let left = try #require(await source.load())
        #expect(left.end != nil && left.client.id == record.client.id && left.refreshToken == nil)
        #expect(!String(decoding: try left.encoded(), as: UTF8.self).contains(secret))
    }

    @Test func `the mark is stored with the session`() async throws {
        for mark in [
            AuthStateRecord.Move.leaving(to: "file:/a"), .arriving(from: "keyring:b"), .signedOut(at: "file:/a"), nil,
        ] {
            var record = try record()
            record.move = mark
            #expect(try AuthStateRecord(decoding: record.encoded(), from: "test") == record)
        }
    }
}

extension MemoryTokenStore {
    fileprivate func put(_ record: AuthStateRecord?) { try? update { $0 = record } }
}

internal import AppAuth
internal import AppAuthConcurrency
internal import AppAuthProtocol
internal import AppAuthSession

extension Check {
    /// The checks of the refresh lock.
    static let locks: [Check] = [
        Check(sentence: "The refresh lock has one holder, whoever has the place open.") { bench in
            for other in [bench.store, bench.other] {
                let lock = try await bench.store.refreshLock()
                let waiter = Task { try await other.refreshLock() }
                defer { waiter.cancel() }
                let second = await within(bench.pause, else: false) { (try? await waiter.value) != nil }
                lock.release()
                try Broken.unless(!second, "there are two")
                // Waits for the waiter's turn: another check covers a cancelled waiter.
                await within(bench.patience / 4, else: ()) { (try? await waiter.value)?.release() }
            }
        },
        Check(sentence: "Whoever waits for the refresh lock gets it, once those before have released it.") { bench in
            let lock = try await bench.store.refreshLock()
            let waiters = (0..<12).map { index in
                Task {
                    let lock = try await (index % 2 == 0 ? bench.store : bench.other).refreshLock()
                    lock.release()
                }
            }
            // Releases on a thread of its own: the store may block the task pool, which another check covers.
            try SystemThread(named: "release", for: .store) { lock.release() }.detach()
            for waiter in waiters {
                let got = await within(bench.patience / 4, else: false) { (try? await waiter.value) != nil }
                try Broken.unless(got, "a waiter does not get it")
            }
        },
        Check(sentence: "The refresh lock is free when nobody has it any more, released or not.") { bench in
            do { _ = try await bench.store.refreshLock() }
            let free = await within(bench.patience / 4, else: false) { (try? await bench.other.refreshLock()) != nil }
            try Broken.unless(free, "nobody else gets it")
        },
        Check(sentence: "Who is cancelled while waiting for the refresh lock leaves with CancellationError.") { bench in
            let lock = try await bench.store.refreshLock()
            defer { lock.release() }
            for isEarly in [true, false] {
                let waiter = Task { try await bench.other.refreshLock() }
                if !isEarly { try await Task.sleep(for: bench.pause) }
                waiter.cancel()
                let end: Result<RefreshLock, any Error>? = await within(bench.patience / 4, else: nil) {
                    await waiter.result
                }
                switch end {
                case .success: break  // another check covers two holders
                case .failure(let error): try Broken.unless(error is CancellationError, "it throws \(error)")
                case nil: throw Broken(found: "it goes on waiting")
                }
            }
        },
        Check(sentence: "Who leaves while waiting for the refresh lock does not keep it from the next.") { bench in
            let lock = try await bench.store.refreshLock()
            // The task does not pass the lock on, because a task keeps its result.
            let waiter = Task { _ = try await bench.other.refreshLock() }
            try await Task.sleep(for: bench.pause)
            waiter.cancel()
            _ = await within(bench.pause, else: false) { (try? await waiter.value) == nil }
            lock.release()
            let free = await within(bench.patience / 4, else: false) { (try? await bench.store.refreshLock()) != nil }
            try Broken.unless(free, "nobody gets it any more")
        },
        Check(sentence: "The session is read and changed whoever holds the refresh lock.") { bench in
            try await bench.store.put(Sample.record())
            let lock = try await bench.store.refreshLock()
            defer { lock.release() }
            let works = await within(bench.patience / 4, else: false) {
                for store in [bench.store, bench.other] {
                    guard (try? await store.load()) != nil, (try? await store.update { $0?.rename("other") }) != nil
                    else { return false }
                }
                return true
            }
            try Broken.unless(works, "it is not, as long as the lock is held")
        },
        Check(sentence: "Waiting for the refresh lock holds up no thread that other tasks need.") { bench in
            let lock = try await bench.store.refreshLock()
            let waiters = (0..<64).map { _ in Task { _ = try await bench.other.refreshLock() } }
            let ran = LockedValue(false)
            Task { ran.withLock { $0 = true } }
            // A separate thread watches and ends the check: if no task can run, a task cannot do it.
            let (results, result) = AsyncStream.makeStream(of: Bool.self)
            let polls = Int(bench.patience / 4 / Duration.milliseconds(5))
            try SystemThread(named: "watch", for: .store) {
                for _ in 0..<polls where !ran.withLock({ $0 }) { sleepBriefly() }
                result.yield(ran.withLock { $0 })
                lock.release()
            }.detach()
            for await hasRun in results {
                for waiter in waiters { waiter.cancel() }
                try Broken.unless(hasRun, "with 64 that wait no other task runs")
                return
            }
        },
    ]
}

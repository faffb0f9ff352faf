internal import AppAuth
internal import AppAuthConcurrency
internal import AppAuthProtocol
internal import AppAuthSession

extension Check {
    /// The checks of the refresh lock.
    static let locks: [Check] = [
        Check(sentence: "The refresh lock has one holder among all open stores of the same name.") { bench in
            for other in [bench.store, bench.other] {
                let lock = try await bench.store.refreshLock()
                let waiter = Task { try await other.refreshLock() }
                defer { waiter.cancel() }
                let second = await within(bench.pause, else: false) { (try? await waiter.value) != nil }
                lock.release()
                try Broken.unless(!second, "there were two holders")
                // Waits until the waiter has the lock: another check covers a cancelled waiter.
                await within(bench.patience / 4, else: ()) { (try? await waiter.value)?.release() }
            }
        },
        Check(sentence: "A waiting caller gets the refresh lock after the holder releases it.") { bench in
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
                try Broken.unless(got, "a waiting caller did not get it")
            }
        },
        Check(sentence: "The refresh lock is free once its last holder is deinitialized, released or not.") { bench in
            do { _ = try await bench.store.refreshLock() }
            let free = await within(bench.patience / 4, else: false) { (try? await bench.other.refreshLock()) != nil }
            try Broken.unless(free, "the next caller did not get it")
        },
        Check(sentence: "A cancelled wait for the refresh lock throws CancellationError.") { bench in
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
                case .failure(let error): try Broken.unless(error is CancellationError, "it threw \(error)")
                case nil: throw Broken(found: "it kept waiting")
                }
            }
        },
        Check(sentence: "A caller that stops waiting for the refresh lock does not block the next one.") { bench in
            let lock = try await bench.store.refreshLock()
            // The task does not pass the lock on, because a task keeps its result.
            let waiter = Task { _ = try await bench.other.refreshLock() }
            try await Task.sleep(for: bench.pause)
            waiter.cancel()
            _ = await within(bench.pause, else: false) { (try? await waiter.value) == nil }
            lock.release()
            let free = await within(bench.patience / 4, else: false) { (try? await bench.store.refreshLock()) != nil }
            try Broken.unless(free, "the next caller did not get it")
        },
        Check(sentence: "The session can be read and updated while the refresh lock is held.") { bench in
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
            try Broken.unless(works, "it could not, as long as the lock was held")
        },
        Check(sentence: "Waiting for the refresh lock does not block a thread of other tasks.") { bench in
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
                try Broken.unless(hasRun, "with 64 waiting callers, no other task ran")
                return
            }
        },
    ]
}

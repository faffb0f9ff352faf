internal import AppAuthConcurrency
internal import AppAuthProtocol
internal import AppAuthSession
internal import JOSE

extension Check {
    /// The checks of what is stored.
    static let content: [Check] = [
        Check(sentence: "A store has a name for messages, the same for all who open the place.") { bench in
            let locations = [bench.store.location, bench.other.location]
            try Broken.unless(!locations[0].isEmpty && locations[0] == locations[1], "the names are \(locations)")
        },
        Check(sentence: "An empty place holds no session.") { bench in
            try Broken.unless(await bench.store.load() == nil, "load() finds one")
            try Broken.unless(await bench.store.update { $0 == nil }, "a change finds one")
        },
        Check(sentence: "What is stored is read again, all of it, in whatever script.") { bench in
            let record = try Sample.record("Zoë 日本語 👩‍👩‍👧 e\u{301} \u{10FFFF} \"\\\n\u{7F}")
            try await bench.store.put(record)
            try Broken.unless(await bench.store.load() == record, "something else is read")
        },
        Check(sentence: "A session of 64 KiB is stored whole.") { bench in
            let record = try Sample.record(refreshToken: String(repeating: "0123456789abcdef", count: 4096))
            try await bench.store.put(record)
            try Broken.unless(await bench.store.load() == record, "something else is read")
        },
        Check(sentence: "What one has stored, the others who have the place open see.") { bench in
            let record = try Sample.record()
            for (writer, reader) in [(bench.store, bench.other), (bench.other, bench.store)] {
                for name in ["first", "second"] {
                    try await writer.put(record.named(name))
                    try Broken.unless(await reader.load()?.client.id == name, "an older session is read")
                }
            }
        },
        Check(sentence: "Nil in place of the session removes it.") { bench in
            try await bench.store.put(Sample.record())
            try await bench.store.put(nil)
            try Broken.unless(await bench.store.load() == nil, "load() finds it")
            try await bench.store.put(nil)
        },
        Check(sentence: "Of changes at the same time none is lost.") { bench in
            let count = 40
            try await bench.store.put(Sample.record("0"))
            try await withThrowingTaskGroup(of: Void.self) { group in
                for index in 0..<count {
                    group.addTask {
                        try await (index % 2 == 0 ? bench.store : bench.other).update { record in
                            let count = Int(record?.client.id ?? "") ?? 0
                            record?.rename(String(count + 1))
                        }
                    }
                }
                try await group.waitForAll()
            }
            let found = try await bench.store.load()?.client.id ?? "none"
            try Broken.unless(found == String(count), "of \(count) changes \(found) are there")
        },
        Check(sentence: "A change that alters nothing writes nothing.") { bench in
            guard let version = bench.version else { return }
            try await bench.store.put(Sample.record())
            let before = try await version()
            _ = try await bench.store.update { $0?.client.id }
            try Broken.unless(await version() == before, "the place has changed")
            try await bench.store.update { $0?.rename("other") }
            try Broken.unless(await version() != before, "the place has not changed with a change that does alter it")
        },
        Check(sentence: "A change that throws writes nothing, and its error comes back.") { bench in
            struct Refusal: Error {}
            let record = try Sample.record()
            try await bench.store.put(record)
            do {
                try await bench.store.update { stored in
                    stored = nil
                    throw Refusal()
                }
                throw Broken(found: "no error comes")
            } catch is Refusal {}
            try Broken.unless(await bench.store.load() == record, "the session has changed")
        },
        Check(sentence: "Who reads sees the session before a change or after it, never in between.") { bench in
            let record = try Sample.record(refreshToken: String(repeating: "x", count: 20_000))
            try await bench.store.put(record.named("0"))
            let isEnough = LockedValue(false)
            defer { isEnough.withLock { $0 = true } }
            let writer = Task {
                for turn in 1... {
                    if isEnough.withLock({ $0 }) { return }
                    try await bench.store.put(record.named(String(turn)))
                }
            }
            // On a busy machine, what the store can do in a few seconds is enough.
            let end = ContinuousClock.now + bench.patience / 4
            for turn in 0..<200 where turn < 20 || ContinuousClock.now < end {
                let found = try await bench.other.load()
                guard let name = found?.client.id, found == record.named(name) else {
                    throw Broken(found: "\(found == nil ? "no session" : "something else") is read")
                }
                await Task.yield()
            }
            isEnough.withLock { $0 = true }
            try await writer.value
        },
        Check(sentence: "Two places have nothing in common.") { bench in
            for (store, name) in [(bench.store, "one"), (bench.next, "two")] {
                try await store.put(Sample.record(name))
            }
            let found = try await bench.store.load()?.client.id
            try Broken.unless(found == "one", "the session of one is in the other")
            let lock = try await bench.store.refreshLock()
            defer { lock.release() }
            let both = await within(bench.patience / 4, else: false) {
                (try? await bench.next.refreshLock()) != nil
            }
            try Broken.unless(both, "who holds the refresh lock of one keeps others from that of the other")
        },
    ]
}

internal import AppAuthConcurrency
internal import AppAuthProtocol
internal import AppAuthSession
internal import JOSE

extension Check {
    /// The checks of what is stored.
    static let content: [Check] = [
        Check(sentence: "A store has a location for messages, the same each time the store is opened.") { bench in
            let locations = [bench.store.location, bench.other.location]
            try Broken.unless(!locations[0].isEmpty && locations[0] == locations[1], "the names are \(locations)")
        },
        Check(sentence: "An empty store holds no session.") { bench in
            try Broken.unless(await bench.store.load() == nil, "load() returned one")
            try Broken.unless(await bench.store.update { $0 == nil }, "an update received one")
        },
        Check(sentence: "A stored session is read back unchanged, in any script.") { bench in
            let record = try Sample.record("Zoë 日本語 👩‍👩‍👧 e\u{301} \u{10FFFF} \"\\\n\u{7F}")
            try await bench.store.put(record)
            try Broken.unless(await bench.store.load() == record, "it read something else")
        },
        Check(sentence: "A session of 64 KiB is stored completely.") { bench in
            let record = try Sample.record(refreshToken: String(repeating: "0123456789abcdef", count: 4096))
            try await bench.store.put(record)
            try Broken.unless(await bench.store.load() == record, "it read something else")
        },
        Check(sentence: "A stored session is visible through every open store of the same name.") { bench in
            let record = try Sample.record()
            for (writer, reader) in [(bench.store, bench.other), (bench.other, bench.store)] {
                for name in ["first", "second"] {
                    try await writer.put(record.named(name))
                    try Broken.unless(await reader.load()?.client.id == name, "it read an older session")
                }
            }
        },
        Check(sentence: "An update to nil removes the session.") { bench in
            try await bench.store.put(Sample.record())
            try await bench.store.put(nil)
            try Broken.unless(await bench.store.load() == nil, "load() still returned it")
            try await bench.store.put(nil)
        },
        Check(sentence: "Concurrent updates are not lost.") { bench in
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
            try Broken.unless(found == String(count), "only \(found) of \(count) updates are stored")
        },
        Check(sentence: "An update without changes writes nothing.") { bench in
            guard let version = bench.version else { return }
            try await bench.store.put(Sample.record())
            let before = try await version()
            _ = try await bench.store.update { $0?.client.id }
            try Broken.unless(await version() == before, "the version changed")
            try await bench.store.update { $0?.rename("other") }
            try Broken.unless(await version() != before, "the version did not change with the session")
        },
        Check(sentence: "An update that throws writes nothing, and its error is rethrown.") { bench in
            struct Refusal: Error {}
            let record = try Sample.record()
            try await bench.store.put(record)
            do {
                try await bench.store.update { stored in
                    stored = nil
                    throw Refusal()
                }
                throw Broken(found: "no error was thrown")
            } catch is Refusal {}
            try Broken.unless(await bench.store.load() == record, "the session changed")
        },
        Check(sentence: "A reader sees the session before or after an update, never in between.") { bench in
            let record = try Sample.record(refreshToken: String(repeating: "x", count: 20_000))
            try await bench.store.put(record.named("0"))
            let isEnough = LockedValue(false)
            defer { isEnough.withLock { $0 = true } }
            let writer = Task {
                for round in 1... {
                    if isEnough.withLock({ $0 }) { return }
                    try await bench.store.put(record.named(String(round)))
                }
            }
            // On a busy machine, what the store can do in a few seconds is enough.
            let end = ContinuousClock.now + bench.patience / 4
            for round in 0..<200 where round < 20 || ContinuousClock.now < end {
                let found = try await bench.other.load()
                guard let name = found?.client.id, found == record.named(name) else {
                    throw Broken(found: "it read \(found == nil ? "no session" : "something else")")
                }
                await Task.yield()
            }
            isEnough.withLock { $0 = true }
            try await writer.value
        },
        Check(sentence: "The preparation of a refresh leaves the session as it is.") { bench in
            let record = try Sample.record()
            try await bench.store.put(record)
            let read = try await bench.store.prepareForRefresh(TokenStoreCall(expectsSession: true))
            try Broken.unless(read == record, "it returned something else")
            try Broken.unless(await bench.store.update { $0 == record }, "the session changed")
        },
        Check(sentence: "Stores with different names are independent.") { bench in
            for (store, name) in [(bench.store, "one"), (bench.next, "two")] {
                try await store.put(Sample.record(name))
            }
            let found = try await bench.store.load()?.client.id
            try Broken.unless(found == "one", "one store has the session of the other")
            let lock = try await bench.store.refreshLock()
            defer { lock.release() }
            let both = await within(bench.patience / 4, else: false) {
                (try? await bench.next.refreshLock()) != nil
            }
            try Broken.unless(both, "the refresh lock of one store blocks that of the other")
        },
    ]
}

import AppAuthConcurrency
import Testing

@testable import SessionSimulation

/// The machine in virtual time that runs the session's own tasks.
struct WorldTests {
    private actor Log {
        private(set) var entries: [Int] = []
        func add(_ entry: Int) { entries.append(entry) }
    }

    /// Runs five tasks, each of which passes through an actor, a task of its own, and a yield.
    private static func order(seed: UInt64) -> [Int] {
        let (world, log, order) = (World(seed: seed), Log(), LockedValue<[Int]>([]))
        world.enter {
            for number in 0..<5 {
                world.start(1) {
                    await Task.detached { await Task.yield() }.value
                    world.checkThread()
                    await log.add(number)
                    world.checkThread()
                }
            }
            while world.step() {}
            world.start(1) {
                let entries = await log.entries
                order.withLock { $0 = entries }
            }
            while world.step() {}
        }
        return order.withLock { $0 }
    }

    @Test func `the seed decides the order of tasks, and nothing else does`() {
        let orders = (UInt64(1)...50).map(Self.order)
        #expect(orders.allSatisfy { $0.sorted() == [0, 1, 2, 3, 4] } && Set(orders).count > 20)
        #expect(orders == (UInt64(1)...50).map(Self.order))
    }

    @Test func `time passes only where everything waits, and a sleep takes no time`() {
        let (world, times) = (World(seed: 1), LockedValue<[Int]>([]))
        world.enter {
            world.start(1) {
                try? await Host(world: world, process: 1).pause(3_600_000)
                try? await Task.sleep(for: .seconds(1800))
                times.withLock { $0.append(world.now) }
            }
            world.run(until: 3_599_999)
            #expect(world.now == 3_599_999 && times.withLock { $0.isEmpty })
            while world.step() {}
        }
        #expect(times.withLock { $0.first.map { abs($0 - 5_400_000) < 1000 } } == true)
    }

    @Test func `a process that is killed has no effect any more, and all that waits in it ends`() throws {
        let (world, effects, errors) = (World(seed: 1), LockedValue(0), LockedValue<[any Error]>([]))
        world.enter {
            for process in 1...2 {
                let host = Host(world: world, process: process)
                world.start(process) {
                    do {
                        try await host.pause(10)
                        try await host.call { effects.withLock { $0 += 1 } }
                    } catch { errors.withLock { $0.append(error) } }
                }
            }
            world.run(until: 5)
            world.kill(1)
            #expect(errors.withLock { $0.count == 1 && $0[0] is Crash } && world.isIdle(1))
            while world.step() {}
        }
        #expect(effects.withLock { $0 } == 1 && errors.withLock { $0.count } == 1)
    }

    @Test func `a process that is stopped goes on later`() {
        let (world, ends) = (World(seed: 1), LockedValue<[Int]>([]))
        world.enter {
            for process in 1...2 {
                let host = Host(world: world, process: process)
                world.start(process) {
                    try? await host.pause(10)
                    ends.withLock { $0.append(process) }
                }
            }
            world.setStopped(1, true)
            world.run(until: 1000)
            #expect(ends.withLock { $0 } == [2])
            world.setStopped(1, false)
            while world.step() {}
        }
        #expect(ends.withLock { $0 } == [2, 1])
    }

    @Test func `a cancelled pause ends at once`() {
        let (world, isCancelled) = (World(seed: 1), LockedValue(false))
        world.enter {
            let task = world.start(1) {
                do { try await Host(world: world, process: 1).pause(1000) } catch {
                    isCancelled.withLock { $0 = error is CancellationError }
                }
            }
            world.run(until: 10)
            world.run(as: 1) { task.cancel() }
            world.run(until: 20)
        }
        #expect(isCancelled.withLock { $0 })
    }
}

import AppAuthConcurrency
import Testing

@Suite struct LockedValueTests {
    @Test func `changes by many tasks are all kept`() async {
        let counter = LockedValue([0])
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask { for _ in 0..<5000 { counter.withLock { $0[0] += 1 } } }
            }
        }
        #expect(counter.withLock { $0 } == [8 * 5000])
    }

    @Test func `the lock is released when the body throws`() {
        struct Failure: Error {}
        let locked = LockedValue(1)
        #expect(throws: Failure.self) {
            try locked.withLock { (value) throws(Failure) in
                value = 2
                throw Failure()
            }
        }
        #expect(locked.withLock { $0 } == 2)
    }
}

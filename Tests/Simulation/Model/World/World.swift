import AppAuthConcurrency
import Glibc

/// A machine in virtual time, which runs the jobs of its processes one at a time, on the thread that calls ``enter(_:)``.
///
/// Tasks, actors and continuations are those of the product. A job that this thread enqueues belongs to the world, and to
/// the process whose job or event runs; the jobs of other threads go to the runtime's own executor. Whatever resumes a task
/// of the world has to happen within ``enter(_:)``.
///
/// The seed chooses among the jobs that are ready and the events that are due. If there are none, time jumps to the next
/// event.
final class World: @unchecked Sendable {
    typealias Process = Int

    /// Something that happens at a time: the end of a pause, or the arrival of a message.
    private struct Event {
        let time: Int
        let number: Int
        let process: Process
        /// Whether the process has nothing to do until then.
        let isIdle: Bool
        let happen: () -> Void
        /// What happens instead if the event is cancelled, or if its process dies.
        let cancel: () -> Void
    }

    private enum Choice {
        case job(UnownedJob, Process)
        case event(Event)

        var process: Process {
            switch self {
            case .job(_, let process): process
            case .event(let event): event.process
            }
        }
    }

    /// The processes of the world have numbers from 1.
    static let outside: Process = 0

    /// Milliseconds since the world began.
    private(set) var now = 0
    var random: Seeded
    /// Whether no process is slow.
    var isCalm = false
    /// The process whose job or event runs.
    private(set) var current = World.outside
    /// What can happen now.
    private var choices: [Choice] = []
    /// What can happen when its process goes on.
    private var held: [Choice] = []
    /// What happens later, the earliest first.
    private var later: [Event] = []
    private var count = 0
    private var dead: Set<Process> = []
    private var stopped: Set<Process> = []
    /// The number of jobs and events of a process, but for pauses in which it is idle.
    private var work: [Process: Int] = [:]

    init(seed: UInt64) {
        random = Seeded(seed)
        Self.install()
    }

    // MARK: - Running

    /// Makes this thread the world's.
    func enter<Result>(_ body: () throws -> Result) rethrows -> Result {
        let before = pthread_getspecific(Self.key)
        pthread_setspecific(Self.key, Unmanaged.passUnretained(self).toOpaque())
        defer { pthread_setspecific(Self.key, before) }
        return try body()
    }

    /// Lets one thing happen, by the seed's choice. If nothing can happen now, lets time pass until something can, but not
    /// beyond `limit`.
    ///
    /// - Returns: Whether there is more to come.
    func step(until limit: Int = .max) -> Bool {
        collect()
        guard choices.isEmpty else {
            run(choices.count == 1 ? 0 : random.below(choices.count))
            return true
        }
        guard let next = later.first, next.time <= limit else {
            if limit != .max { now = max(now, limit) }
            return false
        }
        now = next.time
        return true
    }

    /// Lets one thing of a process happen, if anything of it can.
    func step(of process: Process, choice: Int) {
        collect()
        let own = choices.indices.filter { choices[$0].process == process }
        if !own.isEmpty { run(own[choice % own.count]) }
    }

    /// Lets everything happen that can, until a time.
    func run(until time: Int) { while step(until: time) {} }

    /// Lets time pass, in which nothing happens.
    func sleep(until time: Int) { now = max(now, time) }

    /// Finds a task that has left the world.
    func checkThread() { precondition(World.ofThread === self, "code of the world runs on another thread") }

    private func collect() {
        while let next = later.first, next.time <= now {
            later.removeFirst()
            add(.event(next))
        }
    }

    private func add(_ choice: Choice) {
        if stopped.contains(choice.process) { held.append(choice) } else { choices.append(choice) }
    }

    private func run(_ index: Int) {
        choices.swapAt(index, choices.count - 1)
        perform(choices.removeLast())
    }

    private func perform(_ choice: Choice) {
        let before = current
        current = choice.process
        defer { current = before }
        switch choice {
        case .job(let job, let process):
            work[process, default: 0] -= 1
            // The generic executor, as a thread of the pool has.
            job.runSynchronously(on: unsafeBitCast((0, 0), to: UnownedSerialExecutor.self))
        case .event(let event):
            if !event.isIdle { work[event.process, default: 0] -= 1 }
            event.happen()
        }
    }

    // MARK: - Processes

    /// Starts a task of a process.
    @discardableResult
    func start(_ process: Process, _ body: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
        checkThread()
        return run(as: process) { Task.detached(operation: body) }
    }

    /// Does something at once in the name of a process.
    func run<Result>(as process: Process, _ body: () -> Result) -> Result {
        let before = current
        current = process
        defer { current = before }
        return body()
    }

    /// Whether a process does nothing, and has no events before the end of an idle pause.
    func isIdle(_ process: Process) -> Bool { work[process, default: 0] == 0 }

    func isDead(_ process: Process) -> Bool { dead.contains(process) }

    /// SIGSTOP, or SIGCONT.
    func setStopped(_ process: Process, _ isStopped: Bool) {
        if isStopped {
            stopped.insert(process)
            held += choices.filter { $0.process == process }
            choices.removeAll { $0.process == process }
        } else if stopped.remove(process) != nil {
            choices += held.filter { $0.process == process }
            held.removeAll { $0.process == process }
        }
    }

    /// Ends a process at once: nothing that its code does has an effect any more. Its tasks are unwound: whatever they await
    /// throws, so that nothing of them stays in memory.
    func kill(_ process: Process) {
        checkThread()
        guard dead.insert(process).inserted else { return }
        setStopped(process, false)
        collect()
        let (events, rest) = (later.filter { $0.process == process }, choices.filter { $0.process != process })
        later.removeAll { $0.process == process }
        var (own, steps) = (choices.filter { $0.process == process } + events.map(Choice.event), 0)
        choices = []
        while !own.isEmpty {
            for choice in own {
                steps += 1
                precondition(steps < 100_000, "a dead process goes on for ever")
                if case .event(let event) = choice { cancel(event) } else { perform(choice) }
            }
            (own, choices) = (choices, [])
        }
        choices = rest
        work[process] = nil
    }

    // MARK: - Events

    /// - Returns: The number of the event.
    @discardableResult
    func schedule(
        after pause: Int, for process: Process = outside, isIdle: Bool = false, cancel: @escaping () -> Void = {},
        _ happen: @escaping () -> Void
    ) -> Int {
        checkThread()
        count += 1
        if !isIdle { work[process, default: 0] += 1 }
        let event = Event(
            time: now + pause, number: count, process: process, isIdle: isIdle, happen: happen, cancel: cancel)
        let index = later.lastIndex { $0.time <= event.time }.map { $0 + 1 } ?? 0
        later.insert(event, at: index)
        return count
    }

    /// Cancels an event.
    func cancel(_ number: Int) {
        func take(_ choices: inout [Choice]) -> Event? {
            for (index, choice) in choices.enumerated() {
                guard case .event(let event) = choice, event.number == number else { continue }
                choices.remove(at: index)
                return event
            }
            return nil
        }
        if let index = later.firstIndex(where: { $0.number == number }) {
            cancel(later.remove(at: index))
        } else if let event = take(&choices) ?? take(&held) {
            cancel(event)
        }
    }

    private func cancel(_ event: Event) {
        let before = current
        current = event.process
        defer { current = before }
        if !event.isIdle { work[event.process, default: 0] -= 1 }
        event.cancel()
    }
}

extension World {
    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        pthread_key_create(&key, nil)
        return key
    }()

    private static var ofThread: World? {
        pthread_getspecific(key).map { Unmanaged<World>.fromOpaque($0).takeUnretainedValue() }
    }

    /// Takes a job if this thread is a world's.
    ///
    /// - Parameter pause: Milliseconds until the job can run; nil for none.
    static func takes(_ job: UnownedJob, after pause: Int? = nil) -> Bool {
        guard let world = ofThread else { return false }
        let process = world.current
        let enqueue = {
            world.work[process, default: 0] += 1
            world.add(.job(job, process))
        }
        if let pause { world.schedule(after: pause, for: process, cancel: enqueue, enqueue) } else { enqueue() }
        return true
    }
}

/// The error with which everything ends that a dead process waits for.
struct Crash: Error {}

/// What the parts of a process have of the world.
struct Host: Sendable {
    let world: World
    let process: World.Process

    /// Suspends the task for a while. In a dead process, or if the task is cancelled, it throws at once.
    ///
    /// - Parameter isIdle: Whether the process has nothing to do meanwhile.
    func pause(_ milliseconds: Int, isIdle: Bool = false) async throws {
        try checkLife()
        try Task.checkCancellation()
        let number = LockedValue<(event: Int?, isCancelled: Bool)>((nil, false))
        try await withTaskCancellationHandler {
            try await withUnsafeThrowingContinuation { (continuation: UnsafeContinuation<Void, any Error>) in
                guard !number.withLock({ $0.isCancelled }) else {
                    return continuation.resume(throwing: CancellationError())
                }
                let event = world.schedule(
                    after: milliseconds, for: process, isIdle: isIdle,
                    cancel: {
                        continuation.resume(throwing: world.isDead(process) ? Crash() : CancellationError())
                    },
                    { continuation.resume() })
                number.withLock { $0.event = event }
            }
        } onCancel: {
            let event = number.withLock { number in
                number.isCancelled = true
                return number.event
            }
            if let event { world.cancel(event) }
        }
    }

    /// Makes a call that takes a random time there and back, with its effect in between. The process may die, or others may
    /// go on, before it knows the result.
    func call<Value>(_ effect: () throws -> Value) async throws -> Value {
        try await pause(latency)
        let result = Result { try effect() }
        try await pause(latency)
        return try result.get()
    }

    /// Sometimes a process is slow, or is stopped. Without that, errors that need a narrow window are not found.
    private var latency: Int { world.random.below(!world.isCalm && world.random.below(30) == 0 ? 3000 : 3) }

    func checkLife() throws { if world.isDead(process) { throw Crash() } }
}

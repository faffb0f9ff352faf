@_spi(ExperimentalCustomExecutors) @_spi(ExperimentalScheduling) import _Concurrency

/// The executors of the whole program: the world of this thread, or else the platform's. A program may have several worlds,
/// each on a thread of its own, and ordinary tasks.
private struct WorldExecutors: ExecutorFactory {
    private static let platform = (main: MainActor.executor, other: Task.defaultExecutor)
    static var mainExecutor: any MainExecutor { platform.main }
    static let defaultExecutor: any TaskExecutor = WorldExecutor(platform: platform.other)
}

private final class WorldExecutor: TaskExecutor, SchedulingExecutor {
    let platform: any TaskExecutor

    init(platform: any TaskExecutor) { self.platform = platform }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        if !World.takes(job) { platform.enqueue(ExecutorJob(job)) }
    }

    func enqueue<C: Clock>(
        _ job: consuming ExecutorJob, after delay: C.Duration, tolerance: C.Duration?, clock: C
    ) {
        let job = UnownedJob(job)
        // What arrives is short of what was asked by the real time that has passed since.
        let pause = (delay as? Duration).map { Int(($0 / .milliseconds(1)).rounded(.up)) } ?? 0
        if World.takes(job, after: max(0, pause)) { return }
        guard let scheduling = platform as? any SchedulingExecutor else { fatalError("the platform cannot wait") }
        scheduling.enqueue(ExecutorJob(job), after: delay, tolerance: tolerance, clock: clock)
    }
}

extension World {
    private static let installed: Void = _createExecutors(factory: WorldExecutors.self)

    static func install() { _ = installed }
}

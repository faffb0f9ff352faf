/// The kind of token that a caller requests.
enum CallKind: CaseIterable {
    case usual
    /// More validity than the usual margin.
    case longer
    /// After a 401.
    case forced
    /// Fewer scopes: a separate token.
    case narrowed
    /// A scope that was not granted: the server returns an error to this caller.
    case ungranted
}

/// A step of a run. Each step makes sense after any others, so that any of them can be left out when a failure is
/// shrunk. Times are in milliseconds.
enum Step {
    case wait(Int)
    /// A process requests a token. If it is not running, it is started.
    case call(Int, CallKind)
    /// A task of a process advances by some steps, from one `await` to the next.
    case go(Int, task: Int, count: Int)
    /// All processes continue in turn until nothing is left to do.
    case settle
    /// kill -9, or the end of a process.
    case kill(Int)
    case signOut(Int, revoking: Bool)
    /// A process signs in. If `always` is false, it does so only if there is no session.
    case signIn(Int, always: Bool)
    /// The wall clock is set wrong by this amount.
    case clock(Int)
    /// The machine sleeps.
    case suspend(Int)
    /// The machine is off for a while and starts with a wall clock that is wrong by `wallError`.
    case restart(Int, wallError: Int)
    case trouble(SimulatedServer.Trouble, Int)
    case wire(SimulatedWire.Fault)
    case idTokens(SimulatedServer.IDTokens, Int)
    case fullDisk(Int)
    /// The store writes, but its response is lost.
    case muteStore(Int)
    /// The store can be neither read nor written.
    case shutStore(Int)
    /// An administrator ends the session at the server.
    case revoke
    /// The server receives the next request twice.
    case duplicate
    /// One of the callers that wait in a process is cancelled.
    case cancel(Int, Int)
    /// The database ends the connections that have the refresh locks. The holders may not notice it until they use them.
    case loseLocks(isNoticed: Bool)
    /// The same, with notice, the next time that a holder is about to send the refresh token.
    case loseLockInUse
    /// A process is stopped for a while: SIGSTOP, or its machine is cut off.
    case stop(Int, Int)

    /// Whether the step is a fault.
    var isFault: Bool {
        switch self {
        case .wait, .call, .go, .settle, .signOut, .signIn: false
        case .kill, .clock, .suspend, .restart, .trouble, .wire, .idTokens, .fullDisk, .muteStore, .shutStore, .revoke,
            .duplicate, .cancel, .loseLocks, .loseLockInUse, .stop:
            true
        }
    }
}

/// The steps of a run. Each has a number, from which the random choices in it follow: they stay the same if other steps are
/// left out.
typealias Schedule = [(number: Int, step: Step)]

/// The initial conditions of a run.
struct Setting {
    /// The seed of the choices among what can happen.
    var seed: UInt64 = 0
    var manner = SimulatedServer.Manner()
    /// The number of processes that run for months. The others run for one call each.
    var daemons = 1
    var processes = 3
    /// Whether the store is a database, which can release a lock while its holder lives.
    var losesLocks = false
}

/// A generator of random numbers that are the same for the same seed.
struct Seeded: RandomNumberGenerator {
    private var state: UInt64
    init(_ seed: UInt64) { state = seed }

    /// By the remainder: the standard library's way is slow without optimization.
    mutating func below(_ count: Int) -> Int { Int(truncatingIfNeeded: next() % UInt64(count)) }

    // SplitMix64.
    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}

/// A generator of runs: long quiet periods, and between them a minute in which much happens at once.
struct ScheduleGenerator {
    private var random: Seeded
    /// The random numbers for the extra steps.
    private var extra: Seeded
    /// The random numbers for the lost locks.
    private var losses: Seeded
    private(set) var setting = Setting()
    private let calamity: Int

    init(seed: UInt64, losesLocks: Bool = false) {
        (random, extra, losses) = (Seeded(seed), Seeded(~seed), Seeded(seed.byteSwapped))
        (setting.seed, setting.losesLocks) = (seed, losesLocks)
        setting.manner.rotates = Int.random(in: 0..<6, using: &random) > 0
        setting.manner.grace = [nil, nil, nil, 10_000, 60_000, .max].randomElement(using: &random) ?? nil
        setting.manner.lifetime = [1, 5, 60, 300, 3600, 3600, 86_400].randomElement(using: &random) ?? 3600
        setting.daemons = Int.random(in: 0...2, using: &random)
        setting.processes = setting.daemons + Int.random(in: 2...4, using: &random)
        setting.manner.blamesGrant = seed % 3 == 0
        let hour = 3_600_000
        setting.manner.sessionLength = [nil, nil, 10 * hour, 7 * 24 * hour, 30 * 24 * hour][Int(seed % 5)]
        calamity = [2, 10, 25].randomElement(using: &random) ?? 10
    }

    mutating func schedule(episodes: Int) -> Schedule {
        (0..<episodes).flatMap { _ in episode() }.enumerated().map { (number: $0, step: $1) }
    }

    private mutating func episode() -> [Step] {
        let hour = 3_600_000
        var steps: [Step] = [.wait(Int.random(in: 1000...(4 * 24 * hour), using: &random)), .signIn(0, always: false)]
        let herd = Int.random(in: 1...setting.processes, using: &random)
        for _ in 0..<Int.random(in: 2...8, using: &random) {
            if Int.random(in: 0..<100, using: &random) < calamity { steps.append(fault()) }
            steps.append(.call(process(upTo: herd), call()))
            for _ in 0..<Int.random(in: 0...2, using: &random) {
                steps.append(
                    .go(
                        process(upTo: herd), task: Int.random(in: 0..<4, using: &random),
                        count: Int.random(in: 1...7, using: &random)))
            }
            if Int.random(in: 0..<3, using: &random) == 0 {
                steps.append(.wait(Int.random(in: 1...3000, using: &random)))
            }
        }
        if Int.random(in: 0..<5, using: &random) > 0 { steps.append(.settle) }
        steps = addExtras(to: steps)
        return setting.losesLocks ? addLosses(to: steps) : steps
    }

    private mutating func addLosses(to steps: [Step]) -> [Step] {
        var steps = steps
        for _ in 0..<Int.random(in: 0...2, using: &losses) {
            let step: Step
            if Bool.random(using: &losses) {
                step =
                    [.loseLocks(isNoticed: true), .loseLocks(isNoticed: false), .loseLockInUse]
                    .randomElement(using: &losses) ?? .loseLockInUse
            } else {
                let process = Int.random(in: 0..<setting.processes, using: &losses)
                step = .stop(process, Int.random(in: 1000...180_000, using: &losses))
            }
            steps.insert(step, at: Int.random(in: 2...steps.count, using: &losses))
        }
        return steps
    }

    private mutating func addExtras(to steps: [Step]) -> [Step] {
        var steps = steps
        for _ in 0..<Int.random(in: 0...2, using: &extra) {
            let process = Int.random(in: 0..<setting.processes, using: &extra)
            let step: Step =
                switch Int.random(in: 0..<4, using: &extra) {
                case 0: .duplicate
                default: .cancel(process, Int.random(in: 0..<4, using: &extra))
                }
            steps.insert(step, at: Int.random(in: 2...steps.count, using: &extra))
        }
        return steps
    }

    private mutating func process(upTo count: Int) -> Int { Int.random(in: 0..<count, using: &random) }

    private mutating func call() -> CallKind {
        let kinds: [CallKind] = [.usual, .usual, .usual, .usual, .longer, .forced, .forced, .narrowed, .ungranted]
        return kinds.randomElement(using: &random) ?? .usual
    }

    private mutating func fault() -> Step {
        let (minute, hour, year) = (60_000, 3_600_000, 365 * 24 * 3_600_000)
        let anyone = process(upTo: setting.processes)
        let errors = [0, hour, -hour, 26 * hour, -26 * hour, year, -year]
        let error = errors.randomElement(using: &random) ?? 0
        let time = Int.random(in: 100...(20 * minute), using: &random)
        switch Int.random(in: 0..<25, using: &random) {
        case 0..<5: return .wire(SimulatedWire.Fault.allCases.randomElement(using: &random) ?? .cut)
        case 5..<9: return .trouble(SimulatedServer.Trouble.allCases.randomElement(using: &random) ?? .htmlPage, time)
        case 9..<13: return .kill(anyone)
        case 13: return .clock(error)
        case 14: return .suspend(Int.random(in: minute...(9 * hour), using: &random))
        case 15: return .restart(Int.random(in: minute...hour, using: &random), wallError: error)
        case 16: return .fullDisk(time)
        case 17: return .shutStore(time)
        case 18: return .idTokens(Bool.random(using: &random) ? .unverified : .refused, time)
        case 19: return Int.random(in: 0..<4, using: &random) == 0 ? .idTokens(.foreign, time) : .kill(anyone)
        case 20: return .signOut(anyone, revoking: Bool.random(using: &random))
        case 21: return .signIn(anyone, always: true)
        case 22: return .revoke
        case 23: return .muteStore(time)
        default: return .wait(Int.random(in: 1000...(2 * minute), using: &random))
        }
    }
}

import AppAuthProtocol
import AppAuthSession

/// A program that shares the session: what it holds in memory, which is lost when it is killed.
final class SimulatedProcess {
    let number: Int
    let isDaemon: Bool
    var memory: Memory?
    var move: SimulatedMove?

    init(number: Int, isDaemon: Bool) { (self.number, self.isDaemon) = (number, isDaemon) }

    /// What an `AuthState` holds.
    final class Memory {
        let store: SimulatedStore
        var record: AuthStateRecord
        var wasStored = true
        var unsaved: Unsaved?
        var lastTried: Unsaved?
        var flights: [SessionRules.TokenRequirement.Kind: Task] = [:]
        var isGone = false
        var looks = 0
        var storing: Task?
        var turn: Task?
        var hasRevoked = false
        var tasks: [Task] = []
        /// Whether a caller was told that the session is over.
        var hasToldEnd = false

        init(record: AuthStateRecord, store: SimulatedStore) { (self.record, self.store) = (record, store) }
    }

    final class Unsaved {
        let event: SessionRules.Event
        let known: SessionRules.Knowledge
        let then: Timestamp
        let lock: SimulatedStore.Lock?

        init(
            _ event: SessionRules.Event, _ known: SessionRules.Knowledge, _ then: Timestamp,
            _ lock: SimulatedStore.Lock?
        ) {
            (self.event, self.known, self.then, self.lock) = (event, known, then, lock)
        }
    }

    /// A change of the store between the two awaits around it.
    struct Update {
        let event: SessionRules.Event
        let known: SessionRules.Knowledge
        let then: Timestamp?
        let looks: Int
    }

    /// One thread of thought, which stands at an `await`.
    final class Task {
        enum Role { case call, flight, storing, signOut }

        enum Point {
            case begin
            case loaded(AuthStateRecord?, looks: Int)
            case saving
            case join
            case joined(Task)
            case turn, lock
            case looked(AuthStateRecord?, looks: Int)
            case commit(Update)
            case committed(Update, Result<(SessionRules.Decision, AuthStateRecord?), AuthError>)
            case send(SessionRules.Attempt)
            case wire(SessionRules.Attempt, SimulatedRequest)
            case verify(SessionRules.Attempt, TokenResponse, SimulatedRequest)
        }

        let role: Role
        let kind: CallKind
        let need: SessionRules.TokenRequirement
        var point = Point.begin
        var lock: SimulatedStore.Lock?
        /// When it began to wait for its turn and the lock, and when it looks at the store again, in milliseconds.
        var wait = (since: 0, nextLook: 0)
        /// The request whose response is being stored.
        var answered: SimulatedRequest?
        /// Another task whose end is waited for.
        var awaited: Task?
        /// What ``awaited`` stores.
        var mine: Unsaved?
        /// Nil until it has ended; nil within where there is no token to return.
        var result: Result<AccessToken?, AuthError>?

        init(_ role: Role, _ kind: CallKind, _ need: SessionRules.TokenRequirement) {
            (self.role, self.kind, self.need) = (role, kind, need)
        }
    }
}

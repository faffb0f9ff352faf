internal import AppAuthConcurrency

/// The sign-ins that wait for a response of Facebook.
struct Deliveries: Sendable {
    /// The ids of interactions by the state in Facebook's request.
    private let interactions = LockedValue<[String: String]>([:])

    func begin(_ interaction: Interaction) throws -> String {
        let state = try OpaqueToken.make()
        interactions.withLock { $0[state] = interaction.id }
        return state
    }

    /// Returns the interaction's id.
    func find(_ state: String) -> String? { interactions.withLock { $0[state] } }

    /// Removes a state; false if it was used before.
    func end(_ state: String) -> Bool { interactions.withLock { $0.removeValue(forKey: state) != nil } }
}

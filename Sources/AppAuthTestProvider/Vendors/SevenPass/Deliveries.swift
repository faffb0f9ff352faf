internal import JOSE

/// The sign-ins that wait for a response of Facebook.
struct Deliveries: Sendable {
    /// The ids of interactions by the state that Facebook was sent.
    private let interactions = LockedValue<[String: String]>([:])

    func begin(_ interaction: Interaction) throws -> String {
        let state = try OpaqueToken.make()
        interactions.withLock { $0[state] = interaction.id }
        return state
    }

    /// The interaction's id.
    func find(_ state: String) -> String? { interactions.withLock { $0[state] } }

    /// False if the state was used before.
    func end(_ state: String) -> Bool { interactions.withLock { $0.removeValue(forKey: state) != nil } }
}

internal import JOSE

/// The `claims` parameter (OpenID Connect Core §5.5): the requested names, and the required values of `acr`.
struct ClaimsRequest: Sendable {
    var idToken: [String] = []
    var userInfo: [String] = []
    /// The required values of `acr`; empty if any is accepted.
    var essentialACRs: [String] = []
    /// The whole parameter.
    private var document = JSON.Object()

    static let none = ClaimsRequest()

    private init() {}

    /// Parses the parameter; nil if it is not a JSON object of objects.
    init?(_ parameter: String) {
        guard let document = try? JSON(parsing: parameter), let members = document.object else { return nil }
        self.document = members
        for (member, path) in [("id_token", \Self.idToken), ("userinfo", \Self.userInfo)] {
            guard let value = document[member] else { continue }
            guard let object = value.object else { return nil }
            self[keyPath: path] = object.names
        }
        guard let acr = document["id_token"]?["acr"], acr["essential"]?.bool == true else { return }
        essentialACRs = acr["values"]?.strings ?? acr["value"]?.string.map { [$0] } ?? []
    }

    /// Returns whether everything in the other request was requested, too.
    func contains(_ other: JSON.Object) -> Bool { other.members.allSatisfy { document[$0.name] == $0.value } }
}

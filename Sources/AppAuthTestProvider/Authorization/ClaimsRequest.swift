internal import JOSE

/// The `claims` parameter (OpenID Connect Core §5.5): names asked for, and the values that `acr` must have.
struct ClaimsRequest: Sendable {
    var idToken: [String] = []
    var userInfo: [String] = []
    /// Empty where any will do.
    var essentialACRs: [String] = []

    static let none = ClaimsRequest()

    private init() {}

    /// nil if the parameter is not a JSON object of objects.
    init?(_ parameter: String) {
        guard let document = try? JSON(parsing: parameter), document.object != nil else { return nil }
        for (member, path) in [("id_token", \Self.idToken), ("userinfo", \Self.userInfo)] {
            guard let value = document[member] else { continue }
            guard let object = value.object else { return nil }
            self[keyPath: path] = object.names
        }
        guard let acr = document["id_token"]?["acr"], acr["essential"]?.bool == true else { return }
        essentialACRs = acr["values"]?.strings ?? acr["value"]?.string.map { [$0] } ?? []
    }
}

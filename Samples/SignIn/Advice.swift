internal import AppAuth
internal import JOSE

extension Console {
    /// Says what of the default is not asked for.
    func sayLeftOut(_ scopes: [Scope]) {
        let names = scopes.spaceDelimited ?? ""
        say("Not asked for, since the provider does not list it: \(names). Use --scope to ask for it all the same.")
    }
}

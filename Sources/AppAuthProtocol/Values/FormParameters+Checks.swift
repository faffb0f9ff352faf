internal import JOSE

/// Checks of the parameters that an app adds to a request.
extension FormParameters {
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidConfiguration`` if one of the names is that of a parameter that
    ///   the library sets itself.
    package static func check(
        _ names: some Sequence<String>, reserved: Set<String>, for stage: AuthError.Stage
    ) throws(AuthError) {
        guard let name = names.first(where: reserved.contains) else { return }
        throw AuthError(.invalidConfiguration, stage, "the library sets the parameter \(name.foundText) itself")
    }

    /// RFC 6749 §3.1, §3.2: a parameter must not be repeated.
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidConfiguration`` if one is.
    package func requireEachOnce(for stage: AuthError.Stage) throws(AuthError) {
        guard let name = repeatedName else { return }
        throw AuthError(.invalidConfiguration, stage, "the parameter \(name.foundText) is given twice")
    }
}

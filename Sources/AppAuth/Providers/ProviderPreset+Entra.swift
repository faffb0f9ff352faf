internal import AppAuthProtocol

extension ProviderPreset {
    /// Microsoft Entra. Its portal registers no loopback redirect URI but `http://localhost`, so the preset has this host.
    /// Entra issues a refresh token without `prompt=consent`, which the preset leaves out.
    ///
    /// - Parameter tenant: The ID of the tenant whose users can sign in, a UUID; or `organizations` for users of every
    ///   tenant, `consumers` for personal accounts, `common` for both. For some tenants only, set ``issuerPolicy``.
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidConfiguration`` for another name. The domain of a tenant is in no
    ///   ID token.
    public static func entra(tenant: String) throws -> ProviderPreset {
        let (name, host) = (tenant.lowercased(), "https://login.microsoftonline.com")
        let isOfMany = ["organizations", "common"].contains(name)
        guard isOfMany || name == "consumers" || name.isUUID else {
            throw AuthError(
                .invalidConfiguration, .configuration,
                "expected the ID of a tenant, which is a UUID, or organizations, consumers or common, found "
                    + tenant.foundText)
        }
        // The metadata of `consumers` names this tenant.
        let path = name == "consumers" ? "9188040d-6c67-4c5b-b112-36a304b66dad" : name
        var preset = ProviderPreset(issuer: try Issuer("\(host)/\(path)/v2.0"))
        if isOfMany { preset.issuerPolicy = .template("\(host)/{tenantid}/v2.0") }
        (preset.redirectHost, preset.options.prompt) = (.localhost, [])
        return preset
    }
}

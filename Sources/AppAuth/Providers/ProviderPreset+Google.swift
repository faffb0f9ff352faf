internal import AppAuthProtocol

extension ProviderPreset {
    /// Google. It rejects the scope `offline_access` with an error page. Instead, the preset sends `access_type=offline`.
    /// Google issues a refresh token only with the user's consent, so the preset also asks for consent at each sign-in
    /// (`prompt=consent`).
    public static let google: ProviderPreset = {
        var preset = ProviderPreset(issuer: "https://accounts.google.com")
        preset.options.additionalParameters = [.init("access_type", "offline")]
        preset.options.prompt = [.consent]
        return preset
    }()
}

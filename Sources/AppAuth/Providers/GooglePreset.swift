internal import AppAuthProtocol

extension ProviderPreset {
    /// Google, which has no scope `offline_access`, and refuses it on a page of its own. A refresh token is requested with
    /// `access_type=offline`, and with `prompt=consent` at each sign-in, not only at the user's first.
    public static let google: ProviderPreset = {
        var preset = ProviderPreset(issuer: "https://accounts.google.com")
        preset.options.additionalParameters = [.init("access_type", "offline")]
        preset.options.prompt = [.consent]
        return preset
    }()
}

internal import AppAuth
internal import ArgumentParser

extension ProviderOptions {
    /// The argument of `--preset`: a provider that needs more than the standards.
    struct Preset: Sendable {
        let name: String
        let preset: ProviderPreset

        private static let entra = "entra:"
        /// Those that have one issuer.
        static let listed = [Preset(name: "google", preset: .google), Preset(name: "github", preset: .gitHub)]
        static let completion = CompletionKind.list(listed.map(\.name) + [entra])

        /// The tenant of Entra, as the argument names it.
        var tenant: String? { name.hasPrefix(Self.entra) ? String(name.dropFirst(Self.entra.count)) : nil }
    }
}

extension ProviderOptions.Preset {
    init(_ argument: String) throws {
        if let known = Self.listed.first(where: { $0.name == argument }) {
            self = known
        } else if argument.hasPrefix(Self.entra) {
            name = argument
            do { preset = try .entra(tenant: String(argument.dropFirst(Self.entra.count))) } catch {
                throw ValidationError((error as? AuthError)?.message ?? "\(error)")
            }
        } else {
            throw ValidationError("expected google, github or entra:TENANT")
        }
    }

    /// The preset with this issuer; nil for another provider.
    init?(of issuer: Issuer) {
        let known = Self.listed + [Self.entra(at: issuer)].compactMap(\.self)
        guard let found = known.first(where: { $0.preset.issuer == issuer }) else { return nil }
        self = found
    }

    /// The preset for the tenant in an issuer of Entra, which may be in another cloud of Microsoft's.
    static func entra(at issuer: Issuer) -> Self? {
        issuer.string.split(separator: "/").dropLast().last.flatMap { try? Self(Self.entra + $0) }
    }
}

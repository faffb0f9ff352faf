internal import AppAuth
internal import ArgumentParser
internal import JOSE

/// The options to bind tokens.
struct BindingOptions: ParsableArguments, Sendable {
    @Flag(help: "Bind the tokens to a DPoP key of the session (RFC 9449).")
    var dpop = false
    @Option(
        name: .customLong("key-in"), parsing: .unconditional,
        help: """
            Make the DPoP key in a device and use it there, so that a copy of the session is worth nothing: tpm, the TPM of \
            this machine (package tpm2-openssl), handle:0x…, a key that the TPM has, or the URI of a token, pkcs11:token=… \
            (package pkcs11-provider).
            """, completion: .list(["tpm", "handle:", "pkcs11:"]), transform: KeyProvider.init(device:))
    var device: KeyProvider?

    func validate() throws {
        if device != nil, !dpop { throw ValidationError("--key-in needs --dpop") }
    }

    /// The options as they were given, for another command line.
    var words: [String] { (dpop ? ["--dpop"] : []) + (device.map { ["--key-in", $0.device] } ?? []) }
}

extension KeyProvider {
    /// - Parameter device: The value of `--key-in`.
    fileprivate init(device: String) throws {
        self = device == "tpm" ? .tpm2 : KeyProvider(rawValue: device)
        guard try self == .tpm2 || keyURI(for: "") != nil else {
            throw ValidationError(
                "expected tpm, a handle of the TPM, for example handle:0x81000001, or the URI of a token without a PIN, for "
                    + "example pkcs11:token=Work")
        }
    }

    /// The value of `--key-in`.
    var device: String { self == .tpm2 ? "tpm" : rawValue }
}

/// The options for the authorization request, beyond the scope.
struct RequestOptions: ParsableArguments, Sendable {
    @Option(parsing: .unconditional, help: "The prompt parameter, for example login or consent.")
    var prompt: String?
    @Option(name: .customLong("login-hint"), parsing: .unconditional, help: "The user name to suggest to the provider.")
    var loginHint: String?
    @Option(
        name: .customLong("max-age"), parsing: .unconditional,
        help: "Maximum age of the sign-in at the provider, in seconds.",
        transform: { try NumberOption.value($0, in: 0...UInt32.max) })
    var maxAge: UInt32?
    @Option(
        name: .customLong("acr-values"), parsing: .unconditional, help: "Authentication contexts, separated by spaces.")
    var acrValues: String?
    @Option(name: .customLong("ui-locales"), parsing: .unconditional, help: "Languages, separated by spaces.")
    var uiLocales: String?
    @Option(
        name: .customLong("param"), parsing: .unconditionalSingleValue, help: "An additional parameter, as name=value.")
    var parameters: [String] = []
    @Flag(help: "Push the request to the provider; the browser carries only a reference to it (RFC 9126).")
    var par = false

    /// Returns the requested options. They take precedence over those of a preset.
    func options(over preset: AuthorizationRequest.Options) -> AuthorizationRequest.Options {
        func list(_ text: String?) -> [String] { text?.split(separator: " ").map(String.init) ?? [] }
        var options = preset
        if let prompt { options.prompt = list(prompt).map(AuthorizationRequest.Prompt.init(rawValue:)) }
        if pairs.contains(where: { $0.name == "prompt" }) { options.prompt = nil }
        if let loginHint { options.loginHint = loginHint }
        if pairs.contains(where: { $0.name == "login_hint" }) { options.loginHint = nil }
        options.maxAge = maxAge.map(Int.init)
        options.acrValues = list(acrValues)
        options.uiLocales = list(uiLocales)
        options.additionalParameters.removeAll { known in pairs.contains { $0.name == known.name } }
        options.additionalParameters += pairs.map { .init($0.name, $0.value) }
        return options
    }

    private var pairs: [(name: String, value: String)] {
        parameters.map { text in
            let name = text.prefix { $0 != "=" }
            return (String(name), String(text.dropFirst(name.count + 1)))
        }
    }

    func validate() throws {
        for parameter in parameters where !parameter.contains("=") || parameter.hasPrefix("=") {
            throw ValidationError("--param: expected name=value, found \(parameter.foundText)")
        }
        let own = [
            prompt.map { _ in "prompt" }, loginHint.map { _ in "login_hint" }, maxAge.map { _ in "max_age" },
            acrValues.map { _ in "acr_values" }, uiLocales.map { _ in "ui_locales" },
        ].compactMap { $0 }
        var seen = Set(own)
        for (name, _) in pairs {
            guard !AuthorizationRequest.Options.reservedParameters.contains(name) else {
                throw ValidationError("--param: \(name.foundText) is set by sign-in itself")
            }
            guard seen.insert(name).inserted || name == "resource" else {
                throw ValidationError("--param: \(name.foundText) is given twice")
            }
        }
    }
}

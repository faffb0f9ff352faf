import AppAuthProtocol
import AppAuthSession
import HTTPTypes
import JOSE
import AppAuthTestProvider
import TestFixtures
import Testing

// The steps and assertions of modules.

extension Plan {
    /// Runs a module at a provider of its own, which is stopped at the end.
    ///
    /// - Parameter configure: How the module's provider differs from the plan's.
    func run(
        _ configure: (inout LocalProvider.Configuration) -> Void = { _ in },
        _ module: (RelyingParty) async throws -> Void
    ) async throws {
        let key = try SigningKey.generate(.es256)
        let certificates = bindsTokensToCertificate ? try Certificates() : nil
        var configuration = configuration(key)
        configuration.tls = certificates?.provider
        configure(&configuration)
        try await withLocalProvider(configuration) { provider in
            try await module(RelyingParty(self, provider, key, certificates))
        }
    }

    /// The sign-in succeeds, and its tokens are of use.
    func accepts(
        _ configure: (inout LocalProvider.Configuration) -> Void = { _ in },
        sourceLocation: SourceLocation = #_sourceLocation, _ arrange: (RelyingParty) async throws -> Void
    ) async throws {
        try await run(configure) { party in
            try await arrange(party)
            let state = try await party.signIn()
            #expect(await state.record.idToken?.subject == User.alice.subject, sourceLocation: sourceLocation)
            try await party.use(state)
            #expect(party.calls == [.token, destination], sourceLocation: sourceLocation)
        }
    }

    /// As above, with an ID token that is out of the ordinary.
    func accepts(
        sourceLocation: SourceLocation = #_sourceLocation, idToken edit: @escaping @Sendable (inout JWTDraft) -> Void
    ) async throws {
        try await accepts(sourceLocation: sourceLocation) { $0.fault(idToken: edit) }
    }

    /// The sign-in is refused, and nothing is called afterwards.
    ///
    /// - Parameters:
    ///   - message: A part of the error's message.
    ///   - calls: Where the relying party went before it noticed.
    func refuses(
        _ code: AuthError.Code, _ message: String, after calls: [Endpoint],
        _ configure: (inout LocalProvider.Configuration) -> Void = { _ in },
        sourceLocation: SourceLocation = #_sourceLocation, _ arrange: (RelyingParty) async throws -> Void
    ) async throws {
        try await run(configure) { party in
            try await arrange(party)
            let error = await authError { try await party.use(party.signIn()) }
            #expect(error?.code == code, sourceLocation: sourceLocation)
            #expect(
                error?.message.contains(message) == true, "\(String(describing: error))", sourceLocation: sourceLocation
            )
            #expect(party.calls == calls, sourceLocation: sourceLocation)
        }
    }

    /// The first ID token is refused: where it came with the code, before the code is sent.
    func refuses(
        _ message: String, as code: AuthError.Code = .invalidIDToken,
        _ configure: (inout LocalProvider.Configuration) -> Void = { _ in },
        sourceLocation: SourceLocation = #_sourceLocation,
        idToken edit: @escaping @Sendable (inout JWTDraft) -> Void
    ) async throws {
        try await refuses(
            code, message, after: isHybrid ? [] : [.token], configure, sourceLocation: sourceLocation
        ) { $0.fault(idToken: edit) }
    }
}

extension RelyingParty {
    /// Where the browser is when it is sent back.
    private static let frontChannel: [Endpoint] = [.authorization, .interaction]

    /// Changes the first ID token: the one that comes with the code, or with the access token.
    func fault(idToken edit: @escaping @Sendable (inout JWTDraft) -> Void) {
        for endpoint in plan.isHybrid ? Self.frontChannel : [.token] {
            provider.fault(.editIDToken(edit), at: endpoint, times: nil)
        }
    }

    /// Changes the authorization response: the claims of a signed one.
    func fault(signedResponse edit: @escaping @Sendable (inout JWTDraft) -> Void) {
        for endpoint in Self.frontChannel { provider.fault(.editAuthorizationResponse(edit), at: endpoint, times: nil) }
    }

    /// Changes the authorization response: a parameter in the query of the redirect.
    ///
    /// - Parameter value: nil takes it out.
    func fault(parameter name: String, _ value: String?) {
        for endpoint in Self.frontChannel {
            provider.fault(.edit(name, value, at: "/callback"), at: endpoint, times: nil)
        }
    }
}

extension Fault {
    /// Changes a parameter in the query that the browser is sent back with, to a path of the client's.
    static func edit(_ name: String, _ value: String?, at path: String) -> Fault {
        .editReply { reply in
            guard let location = reply.headers[.location], let mark = location.firstIndex(of: "?"),
                location[..<mark].hasSuffix(path),
                var parameters = FormParameters(decoding: String(location[location.index(after: mark)...]))
            else { return }
            parameters.remove(name)
            parameters.append(name, value)
            reply.headers[.location] = location[...mark] + parameters.encoded
        }
    }
}

import AppAuth
import AppAuthProtocol
import AppAuthSession
import AppAuthTestProvider
import Foundation
import ScriptedBrowser
import TestFixtures
import Testing

/// A real proxy that requires a Kerberos ticket (RFC 4559), and a provider that only the proxy can reach.
@Suite(
    .timeLimit(.minutes(1)),
    .enabled(if: KerberosProxy.isInstalled, "needs krb5-kdc, krb5-admin-server, krb5-user and squid"))
struct NegotiateProxyTests {
    @Test func `with the user's ticket, all connections of a sign-in and a refresh pass the proxy`() async {
        await #expect(processExitsWith: .success) {
            try await withProvider { proxy, provider, authority in
                try proxy.kinit()
                try await signInAndRefresh(provider, transport(.negotiate, proxy, authority))
                // The browser's pages, the code and the refresh token. The proxy logs a connection when it ends.
                try await waitUntil { try proxy.log().count >= 3 }
                let line = "200 \(KerberosProxy.host):\(provider.port) alice@EXAMPLE.TEST"
                try #require(try proxy.log().allSatisfy { $0 == line })
                // The ticket is only for the proxy.
                let fields = provider.log.map(\.headers)
                try #require(provider.count(.token) == 2)
                try #require(fields.allSatisfy { $0[.proxyAuthorization] == nil })
                try #require(!fields.contains { $0.contains { $0.value.hasPrefix("Negotiate") } })
            }
        }
    }

    @Test func `without a ticket, nothing reaches the provider, and the error says so`() async {
        await #expect(processExitsWith: .success) {
            try await withProvider { proxy, provider, authority in
                try await expectRefusal(proxy, provider, transport(.negotiate, proxy, authority))
            }
        }
    }

    @Test func `a ticket is used only if that is configured`() async {
        await #expect(processExitsWith: .success) {
            try await withProvider { proxy, provider, authority in
                try proxy.kinit()
                try await expectRefusal(proxy, provider, transport(.basic, proxy, authority))
            }
        }
    }
}

private func withProvider(
    _ test: (KerberosProxy, LocalProvider, TestAuthority) async throws -> Void
) async throws {
    let (proxy, authority) = (try KerberosProxy.start(), try TestAuthority())
    let certificate = try authority.issue("DNS:\(KerberosProxy.host)")
    var configuration = LocalProvider.Configuration.demo
    configuration.hostName = KerberosProxy.host
    configuration.tls = TLSFiles(certificate: certificate + ".pem", key: certificate + ".key")
    try await withLocalProvider(configuration) { try await test(proxy, $0, authority) }
}

private func transport(
    _ authentication: CurlTransport.ProxyAuthentication, _ proxy: KerberosProxy, _ authority: TestAuthority
) -> CurlTransport {
    var configuration = CurlTransport.Configuration(roots: .files([authority.root]), proxy: .url(proxy.url))
    configuration.proxyAuthentication = authentication
    return CurlTransport(configuration)
}

private func signInAndRefresh(_ provider: LocalProvider, _ transport: CurlTransport) async throws {
    let entries = ["username": "alice", "password": "looking-glass"]
    let state = try await withScriptedBrowser(entries: entries, transport: transport) { browser in
        var signIn = try SignIn(
            issuer: Issuer(provider.issuer), clientID: "demo", appName: "Test",
            environment: Environment(transport: transport))
        signIn.browser = browser
        return try await signIn.run(store: MemoryTokenStore())
    }
    _ = try await state.freshAccessToken(forceRefresh: true)
}

private func expectRefusal(
    _ proxy: KerberosProxy, _ provider: LocalProvider, _ transport: CurlTransport
) async throws {
    let discovery = Discovery(environment: Environment(transport: transport))
    let error = await authError { try await discovery.metadata(for: Issuer(provider.issuer)) }
    try #require(error?.code == .transport && error?.outcome == .notSent)
    try #require(error?.httpStatus == 407)
    try #require(provider.log.isEmpty)
    try await waitUntil { try !proxy.log().isEmpty }
    try #require(try proxy.log().allSatisfy { $0 == "407 \(KerberosProxy.host):\(provider.port) -" })
}

import AppAuthConcurrency
import AppAuthTestProvider
import Foundation
import HTTPTypes
import JOSE
import TestFixtures
import Testing

/// `--client-document`: the URL of the client's published metadata is its client ID.
@Suite(.timeLimit(.minutes(5)))
struct ClientDocumentTests {
    /// Runs a test with a provider that accepts client documents, and a server that publishes the one that `register`
    /// prints.
    ///
    /// - Parameter edit: Changes the response with the document.
    private func run(
        _ edit: (inout Reply) throws -> Void = { _ in },
        _ body: (_ fixture: CommandFixture, _ document: DoubleServer, _ login: [String]) async throws -> Void
    ) async throws {
        let published = LockedValue(Reply(.notFound))
        try await withHTTPSServer { _ in
            published.withLock { $0 }
        } _: { server, certificate in
            var configuration = LocalProvider.Configuration.demo
            configuration.resourceDescription = ResourceDescription(scopes: ["api"])
            configuration.clientDocumentRoots = certificate
            try await withDesk(configuration) { fixture in
                let document = ["--client-document", server.origin + "/client.json"]
                let register = [
                    "register", "--issuer", "https://other.example", "--issuer", fixture.issuer, "--redirect-uri",
                    "http://127.0.0.1/callback",
                ]
                let printed = try await fixture.start(register + document).outcome().output
                var reply = Reply(.ok, type: "application/json", printed)
                try edit(&reply)
                published.withLock { [reply] in $0 = reply }
                let login = ["login", "--json", "--resource", fixture.provider.url(.api)] + document
                try await body(fixture, server, login)
            }
        }
    }

    @Test func `a provider fetches the document, and the client signs in and refreshes without a registration`()
        async throws
    {
        try await run { fixture, document, login in
            let session = try await fixture.start(login).outcome().result()
            #expect(session["client_id"]?.string == document.origin + "/client.json")
            _ = try await fixture.run("token", "--force-refresh", "--json").result()
            let response = try await fixture.run("request", "GET", fixture.provider.url(.api), "--json").result()
            #expect(response["status"] == 200 && response["body"]?["client_id"] == session["client_id"])
            let redirectURI = fixture.provider.log(.authorization).first?.query["redirect_uri"]
            let words = redirectURI?.split(separator: "/") ?? []
            #expect(words.last == "callback" && words.dropLast().last?.count == 22, "the one of this issuer")
            #expect(document.log.count == 1 && fixture.provider.count(.clientRegistration) == 0)
        }
    }

    @Test func `the line that signs in again names the document`() async throws {
        try await run { fixture, document, login in
            _ = try await fixture.start(login).outcome().result()
            fixture.provider.fault(.oauthError("invalid_grant"), at: .token)
            let message = try await fixture.run("token", "--force-refresh", "--json").failure(1, "sign_in_required")
            #expect(
                message.contains(" --client-document \(document.origin)/client.json")
                    && !message.contains("--redirect") && !message.contains("--client-id"), "\(message)")
            let line = try #require(message.components(separatedBy: " with: ").last)
            _ = try await fixture.start(["sh", "-c", line + " --json"], []).outcome().result()
            let uris = fixture.provider.log(.authorization).compactMap { $0.query["redirect_uri"] }
            #expect(Set(uris.map { $0.replacing(/:\d+/, with: "") }).count == 1, "\(uris)")
        }
    }

    /// What is wrong with a document, and how the provider reports it.
    enum Flaw: String, CaseIterable {
        case anotherClient = "expected the client_id in the document of the client to be its URL"
        case anotherRedirectURI = "has not registered this redirect_uri"
        case missing = "expected the document of the client, found the status 404"

        func spoil(_ reply: inout Reply) throws {
            var document = try #require(JSON(parsing: reply.body).object)
            switch self {
            case .anotherClient: document["client_id"] = "https://127.0.0.1/other.json"
            case .anotherRedirectURI: document["redirect_uris"] = ["http://127.0.0.1/other"]
            case .missing: reply.status = .notFound
            }
            reply.body = Array(JSON.object(document).serialized().utf8)
        }
    }

    @Test(arguments: Flaw.allCases)
    func `with an invalid document, the sign-in ends on a page of the provider`(flaw: Flaw) async throws {
        try await run(flaw.spoil) { fixture, _, login in
            let process = try fixture.start(login)
            #expect(try await fixture.browser.page().contains(flaw.rawValue))
            #expect(fixture.provider.log(.authorization).map(\.status) == [400])
            process.send(SIGINT)
            #expect(try await process.outcome().status != 0 && fixture.provider.count(.token) == 0)
        }
    }

    @Test func `where the provider accepts no documents, a registered client is used`() async throws {
        var configuration = LocalProvider.Configuration.demo
        configuration.resourceDescription = ResourceDescription(scopes: ["api"])
        try await withDesk(configuration) { fixture in
            let document = "https://app.example/client.json"
            let outcome = try await fixture.run(
                "login", "--json", "--resource", fixture.provider.url(.api), "--client-document", document)
            let session = try outcome.result()
            #expect(session["client_id"]?.string != document && fixture.provider.count(.clientRegistration) == 1)
            #expect(outcome.errors.contains("accepts no client ID metadata document"), "\(outcome)")
        }
    }
}

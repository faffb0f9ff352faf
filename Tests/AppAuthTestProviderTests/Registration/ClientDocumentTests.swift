import AppAuthConcurrency
import Foundation
import HTTPTypes
import JOSE
import AppAuthTestProvider
import TestFixtures
import Testing

/// Clients whose ID is the URL of their metadata (draft-ietf-oauth-client-id-metadata-document-02).
///
/// One test at a time: with more than a thousand open descriptors, Foundation's Process can crash in other tests.
@Suite(.serialized, .timeLimit(.minutes(1)))
struct ClientDocumentTests {
    /// A server that publishes a client's document, and the client's flow at a provider that accepts documents.
    private struct Publication {
        let server: DoubleServer
        let reply: LockedValue<Reply>
        var flow: Flow

        /// Publishes the right document with changes.
        func publish(_ changes: [String: JSON?] = [:], type: String = "application/json") {
            var document = Applicant.metadata
            document["client_id"] = .string(flow.clientID)
            for (name, value) in changes { document[name] = value }
            let text = JSON.object(document).serialized()
            reply.withLock { $0 = Reply(.ok, type: type, text) }
        }

        /// Expects a page and no redirect, after this many requests for the document.
        func expectRefusal(fetches: Int = 1) async throws {
            let response = try await Wire.send("GET", flow.authorizationURL())
            #expect(response.status == 400 && response.header("Location") == nil)
            #expect(server.log.count == fetches)
        }
    }

    /// - Parameters:
    ///   - path: The path of the document.
    ///   - roots: The file of certificates that the provider trusts; nil for the server's.
    private func run(
        at path: String = "/client.json", trusting roots: String? = nil, _ test: (Publication) async throws -> Void
    ) async throws {
        let reply = LockedValue(Reply(.notFound))
        try await withHTTPSServer { _ in
            reply.withLock { $0 }
        } _: { server, certificate in
            let configuration = LocalProvider.Configuration.demo { $0.clientDocumentRoots = roots ?? certificate }
            try await withLocalProvider(configuration) { provider in
                let flow = Flow(provider: provider, clientID: server.origin + path)
                let client = Publication(server: server, reply: reply, flow: flow)
                client.publish()
                try await test(client)
            }
        }
    }

    @Test(arguments: [("application/json", 1), ("application/client+json; charset=utf-8", 4500)])
    func `a client signs in and refreshes, and its document is fetched once`(type: String, size: Int) async throws {
        try await run { client in
            client.publish(["client_name": .string(String(repeating: "A", count: size))], type: type)
            let code = try #require(try await client.flow.authorize()["code"])
            let tokens = try await client.flow.exchange(code)
            let token = try #require(tokens.json?["refresh_token"]?.string)
            #expect(try await client.flow.refresh(token).status == 200)
            #expect(client.server.log.map(\.path) == ["/client.json"])
            let metadata = try await Wire.send("GET", client.flow.provider.url(.openIDConfiguration)).json
            #expect(metadata?["client_id_metadata_document_supported"] == true)
        }
    }

    @Test(
        arguments: [
            ("client_id", "https://127.0.0.1/other.json"), ("client_id", nil), ("client_secret", "s3cret"),
            ("client_secret_expires_at", 0), ("token_endpoint_auth_method", "client_secret_basic"),
            ("token_endpoint_auth_method", nil), ("redirect_uris", ["http://127.0.0.1/other"]),
            ("client_name", .string(String(repeating: "A", count: 5000))),
        ] as [(String, JSON?)])
    func `a document with one wrong member gets a page and no redirect`(name: String, value: JSON?) async throws {
        try await run { client in
            client.publish([name: value])
            try await client.expectRefusal()
        }
    }

    @Test(arguments: [HTTPResponse.Status.notFound, .created, .found])
    func `another status than 200 is refused, and redirects are not followed`(status: HTTPResponse.Status)
        async throws
    {
        try await run { client in
            client.reply.withLock { reply in
                reply.status = status
                reply.headers[.location] = "/other.json"
            }
            try await client.expectRefusal()
        }
    }

    @Test func `a document of another type is refused`() async throws {
        try await run { client in
            client.publish(type: "text/plain")
            try await client.expectRefusal()
        }
    }

    @Test(arguments: ["/", "/a/../client.json", "/./client.json", "/client.json#a"])
    func `an ID that is no URL for a document is refused, and nothing is fetched`(path: String) async throws {
        try await run(at: path) { client in
            try await client.expectRefusal(fetches: 0)
        }
    }

    @Test func `a server whose certificate is not trusted is refused`() async throws {
        try await withCertificate { other in
            try await run(trusting: other.certificate) { client in
                try await client.expectRefusal(fetches: 0)
            }
        }
    }

    /// Linux connects 0.0.0.0 to this machine, but it is no loopback address.
    @Test func `a server that is not on loopback is not asked`() async throws {
        try await run { client in
            var client = client
            client.flow.clientID.replace("127.0.0.1", with: "0.0.0.0")
            client.publish()
            try await client.expectRefusal(fetches: 0)
        }
    }

    @Test func `each authorization request has the document of its time`() async throws {
        try await run { client in
            _ = try await client.flow.authorize()
            client.publish(["redirect_uris": ["http://127.0.0.1/other"]])
            try await client.expectRefusal(fetches: 2)
        }
    }

    @Test func `the endpoints that clients call respond with invalid_client`() async throws {
        try await run { client in
            _ = try await client.flow.pushed()
        }
        try await run { client in
            client.publish(["client_secret": "s3cret"])
            let response = try await client.flow.push()
            #expect(response.status == 401 && response.json?["error"] == "invalid_client")
        }
    }
}

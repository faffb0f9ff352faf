import AppAuthLegacy
import Foundation
import HTTPTypes
import JOSE
import AppAuthTestProvider
import TestFixtures
import Testing

/// S'banken's client credentials through an `AuthState`.
struct SbankenDialectTests {
    private func withSbanken(
        _ dialect: Dialect = .sbanken, _ change: (inout Sbanken.Configuration) -> Void = { _ in },
        _ test: (Stage<Sbanken>) async throws -> Void
    ) async throws {
        try await withStage(
            dialect,
            { options in
                var configuration = Sbanken.Configuration()
                configuration.options = options
                change(&configuration)
                return try await Sbanken.start(configuration)
            }, test)
    }

    private func session(
        _ stage: Stage<Sbanken>, secret: String? = nil,
        _ method: (Secret) -> ClientAuthentication = { .clientSecretBasic($0) }
    ) async throws -> AuthState {
        try await AuthState.present(
            .clientCredentials(), as: client(stage, secret: secret, method), store: MemoryTokenStore(),
            environment: stage.environment)
    }

    private func client(
        _ stage: Stage<Sbanken>, secret: String? = nil,
        _ method: (Secret) -> ClientAuthentication = { .clientSecretBasic($0) }
    ) throws -> Client {
        let demo = stage.double.demo
        return Client(
            id: try #require(demo["client_id"]?.string),
            authentication: method(Secret(secret ?? demo["client_secret"]?.string ?? "")),
            provider: try ProviderMetadata(tokenEndpoint: stage.double.baseURL + "/identityserver/connect/token"))
    }

    @Test func `id and secret are percent-encoded each, and the body is only the grant`() async throws {
        try await withSbanken { stage in
            let state = try await session(stage)
            let request = try #require(stage.double.log(.token).first)
            #expect(request.method == .post && request.headers[.accept] == "application/json")
            #expect(stage.body(0, at: .token) == "grant_type=client_credentials")
            let pair = "demo%2Fapp%2B1%3D%40bank:s3cret%20%2F%2B%3D%40%26%25%3A%C3%B8-_.!~*'()"
            #expect(request.headers[.authorization] == "Basic " + Data(pair.utf8).base64EncodedString())
            let token = try await state.freshAccessToken()
            #expect(token.lifetime == .seconds(3600) && token.type == .bearer)
        }
    }

    @Test func `a client that was made for the form goes into the header too`() async throws {
        try await withSbanken { stage in
            _ = try await session(stage) { .clientSecretPost($0) }
            #expect(stage.body(0, at: .token) == "grant_type=client_credentials")
        }
    }

    @Test func `the encoding of RFC 6749 is another, which the bank refuses`() async throws {
        try await withSbanken(.standard) { stage in
            #expect(await authError { try await session(stage) }?.code == .invalidClient)
        }
    }

    @Test func `only letters, digits and -_.!~*'() stay unencoded`() async throws {
        let unchanged = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.!~*'()"
        let ascii = String(decoding: (0x20...0x7E).map { UInt8($0) }, as: UTF8.self)
        for secret in [unchanged, ascii, "Lønn €"] {
            try await withSbanken(.sbanken, { $0.clientSecret = secret }) { stage in
                _ = try await session(stage)
                #expect(stage.double.log(.token).last?.status == 200)
            }
        }
    }

    @Test func `one call, and a token that ends is renewed by the same credentials`() async throws {
        try await withSbanken { stage in
            let state = try await session(stage)
            let accounts = try await state.send(stage.request("/exec.bank/api/v1/Accounts"))
            #expect(accounts.json?["items"]?.array?.count == 2)
            stage.clock.advance(3600)
            _ = try await state.send(stage.request("/exec.bank/api/v1/Accounts"))
            #expect(stage.double.count(.token) == 2 && stage.double.count(.accounts) == 2)
            stage.double.killAccessTokens()
            #expect(try await state.send(stage.request("/exec.bank/api/v1/Accounts")).status == .ok)
            #expect(stage.double.count(.token) == 3)
        }
    }

    /// The lines of the article OldServers, with another program in place of pkcheck.
    private func token(
        of client: Client, in store: MemoryTokenStore, _ environment: Environment, asking program: String
    ) async throws -> AccessToken {
        @Sendable func checkPerson() throws {
            let process = ProcessInfo.processInfo.processIdentifier
            let check = try Process.run(
                URL(filePath: program),
                arguments: [
                    "--action-id", "org.example.bank.show", "--process", "\(process)", "--allow-user-interaction",
                ])
            check.waitUntilExit()
            guard check.terminationStatus == 0 else { throw CancellationError() }
        }

        let state = try await AuthState.present(
            .clientCredentials(), as: client, store: store, environment: environment
        ) { _ in try checkPerson() }

        try checkPerson()
        let token = try await state.freshAccessToken()
        return token
    }

    @Test func `the article's check of the person comes before a session is stored and a token is handed out`()
        async throws
    {
        let path = URL(filePath: #filePath).deletingLastPathComponent().appending(
            path: "../../Sources/AppAuth/AppAuth.docc/Articles/OldServers.md")
        let article = try String(contentsOf: path, encoding: .utf8)
        let block = try #require(article.firstMatch(of: /@Sendable func checkPerson.*?(?=\n```)/.dotMatchesNewlines()))
            .0
        func words(_ text: some StringProtocol) -> String {
            text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        }
        let source = try String(contentsOfFile: #filePath, encoding: .utf8)
        let isRun = words(source).contains(words(block.replacing(#""/usr/bin/pkcheck""#, with: "program")))
        #expect(isRun)

        // The program that asks: its user's answers come from a file.
        let folder = FileManager.default.temporaryDirectory.appending(path: "person-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let (program, answers, asked) = (folder.path + "/check", folder.path + "/answers", folder.path + "/asked")
        try await ProgramFile.write(
            """
            #!/bin/sh
            read -r answer others < '\(answers)'
            echo "$others" > '\(answers)'
            echo "$*" >> '\(asked)'
            [ "$answer" = yes ]
            """, to: program)
        for (answer, isStored, hasToken) in [("no", false, false), ("yes no", true, false), ("yes yes", true, true)] {
            try await withSbanken { stage in
                try answer.write(toFile: answers, atomically: true, encoding: .utf8)
                try "".write(toFile: asked, atomically: true, encoding: .utf8)
                let (store, client) = (MemoryTokenStore(), try client(stage))
                let given = try? await token(of: client, in: store, stage.environment, asking: program)
                #expect((given != nil) == hasToken)
                #expect(try await (store.load() != nil) == isStored)
                let question = "--action-id org.example.bank.show --process \(getpid()) --allow-user-interaction"
                let lines = try String(contentsOfFile: asked, encoding: .utf8).split(separator: "\n")
                #expect(lines == Array(repeating: question[...], count: isStored ? 2 : 1))
            }
        }
    }

    @Test func `a wrong secret is invalid_client, and not shown`() async throws {
        try await withSbanken { stage in
            let error = await authError { try await session(stage, secret: "wrong one") }
            #expect(error?.code == .invalidClient && error?.message.contains("wrong one") == false)
        }
    }
}

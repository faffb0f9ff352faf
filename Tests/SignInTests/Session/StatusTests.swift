import AppAuthCore
import Foundation
import JOSE
import LocalProvider
import Testing

@Suite(.timeLimit(.minutes(5)))
struct StatusTests {
    @Test func `what is stored is listed, without a token and without a request`() async throws {
        try await withDesk { desk in
            let login = try await desk.login().result()
            let requests = desk.provider.log.count
            let outcome = try await desk.run("status", "--json")
            let entry = try #require(try outcome.result()["sessions"]?.array?.first)
            #expect(
                entry.object?.members.map(\.name).sorted() == [
                    "access_token_expires_at", "client_id", "has_refresh_token", "issuer", "reason", "state", "store",
                    "sub",
                ])
            #expect(entry["issuer"]?.string == desk.issuer)
            #expect(entry["client_id"]?.string == "demo")
            #expect(entry["sub"]?.string == "248289761001")
            #expect(entry["store"]?.string == "file:\(desk.sessions)/\(try #require(desk.stored.first))")
            #expect(entry["access_token_expires_at"] == login["access_token_expires_at"])
            #expect(entry["has_refresh_token"] == true)
            #expect(entry["state"]?.string == "signed_in")
            #expect(entry["reason"] == .null)

            let text = try await desk.run("status")
            #expect(text.outputLines.count == 1 && text.output.contains(desk.issuer))
            let record = try desk.record()
            for secret in [record.accessToken?.value, record.refreshToken, record.idToken?.rawValue] {
                let secret = try #require(secret?.reveal())
                #expect(!outcome.output.contains(secret) && !text.output.contains(secret))
            }
            #expect(desk.provider.log.count == requests)
        }
    }

    @Test func `nothing stored is an empty list, and makes no folder`() async throws {
        try await withDesk { desk in
            let listed = try await desk.run("status", "--json")
            #expect(try listed.result() == ["sessions": []])
            let text = try await desk.run("status")
            #expect(text.output == "No session is stored.\n")
            #expect(!FileManager.default.fileExists(atPath: desk.stateHome))
        }
    }

    @Test func `a damaged session does not hide the others`() async throws {
        try await withDesk { desk in
            _ = try await desk.login().result()
            try Data("{".utf8).write(to: URL(fileURLWithPath: desk.sessions + "/zzz.json"))
            let outcome = try await desk.run("status", "--json")
            #expect(try outcome.result()["sessions"]?.array?.count == 1)
            #expect(outcome.errorLines.count == 1 && outcome.errors.contains("zzz.json"))
        }
    }
}

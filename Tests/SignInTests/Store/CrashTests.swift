import AppAuthProtocol
import AppAuthSession
import Foundation
import JOSE
import AppAuthTestProvider
import Testing

/// The file `NAME.new`, whole or in part, of a process that died while it wrote the session. It was never renamed to
/// the session, so it does not count.
@Suite(.timeLimit(.minutes(5)))
struct CrashTests {
    enum Remains: CaseIterable { case nothing, garbage, half, whole, link }

    @Test(arguments: Remains.allCases)
    func `leftovers of a crash are never read, and are removed with the next change`(remains: Remains) async throws {
        try await withDesk { fixture in
            // The token of a session that is not this one.
            _ = try await fixture.login("--store", "file:\(fixture.home)/other").result()
            try await fixture.signIn()
            let token = try #require(try fixture.record().accessToken).value.reveal()
            let new = "\(fixture.sessions)/\(try #require(fixture.stored.first)).new"
            let left = try leave(remains, at: new, fixture)

            for options in [[], ["--min-validity", "10"]] {
                let outcome = try await fixture.start(["token", "--json"] + options).outcome()
                #expect(try outcome.result()["access_token"]?.string == token)
            }
            #expect(try await fixture.run("status", "--json").result()["sessions"]?.array?.count == 1)

            let refreshes = fixture.provider.count(.token)
            let next = try await fixture.run("token", "--json", "--force-refresh").result()["access_token"]?.string
            #expect(fixture.provider.count(.token) == refreshes + 1)
            #expect(!FileManager.default.fileExists(atPath: new) && fixture.stored.count == 1)
            #expect(try fixture.record().accessToken?.value.reveal() == next)
            // The target of a link belongs to another program.
            if remains == .link { #expect(FileManager.default.contents(atPath: fixture.home + "/other") == left) }
        }
    }

    @Test(arguments: Remains.allCases)
    func `leftovers of a crash without a session are no session and block nothing`(remains: Remains) async throws {
        try await withDesk { fixture in
            _ = try await fixture.login("--store", "file:\(fixture.home)/other").result()
            try await fixture.signIn()
            let session = "\(fixture.sessions)/\(try #require(fixture.stored.first))"
            _ = try leave(remains, at: session + ".new", fixture)
            try FileManager.default.removeItem(atPath: session)

            try await fixture.run("token", "--json").failure(1, "sign_in_required")
            try await fixture.run("token", "--json", "--store", "file:\(session)").failure(1, "sign_in_required")
            #expect(try await fixture.run("status", "--json").result()["sessions"] == [])
            try await fixture.signIn()
            #expect(!FileManager.default.fileExists(atPath: session + ".new") && fixture.stored.count == 1)
            _ = try await fixture.run("token", "--json").result()
        }
    }

    private func leave(_ remains: Remains, at path: String, _ fixture: CommandFixture) throws -> Data {
        let whole = try Data(contentsOf: URL(fileURLWithPath: fixture.home + "/other"))
        let contents =
            switch remains {
            case .nothing: Data()
            case .garbage: Data([0, 255, 10, 123])
            case .half: whole.prefix(whole.count / 2)
            case .whole, .link: whole
            }
        if remains == .link {
            try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: fixture.home + "/other")
        } else {
            try contents.write(to: URL(fileURLWithPath: path))
        }
        return contents
    }
}

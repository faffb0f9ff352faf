import AppAuthCore
import Foundation
import JOSE
import LocalProvider
import Testing

/// What a process leaves behind that dies while it writes the session: `NAME.new`, in part or whole. It was never put in
/// the place of the session, so it is none.
@Suite(.timeLimit(.minutes(5)))
struct CrashTests {
    enum Remains: CaseIterable { case nothing, garbage, half, whole, link }

    @Test(arguments: Remains.allCases)
    func `what a crash has left is never read, and goes with the next change`(remains: Remains) async throws {
        try await withDesk { desk in
            // The token of a session that is not this one.
            _ = try await desk.login("--store", "file:\(desk.home)/other").result()
            _ = try await desk.login().result()
            let token = try #require(try desk.record().accessToken).value.reveal()
            let new = "\(desk.sessions)/\(try #require(desk.stored.first)).new"
            let left = try leave(remains, at: new, desk)

            for options in [[], ["--min-validity", "10"]] {
                let outcome = try await desk.start(["token", "--json"] + options).outcome()
                #expect(try outcome.result()["access_token"]?.string == token)
            }
            #expect(try await desk.run("status", "--json").result()["sessions"]?.array?.count == 1)

            let refreshes = desk.provider.count(.token)
            let next = try await desk.run("token", "--json", "--force-refresh").result()["access_token"]?.string
            #expect(desk.provider.count(.token) == refreshes + 1)
            #expect(!FileManager.default.fileExists(atPath: new) && desk.stored.count == 1)
            #expect(try desk.record().accessToken?.value.reveal() == next)
            // What a link pointed to is somebody else's.
            if remains == .link { #expect(FileManager.default.contents(atPath: desk.home + "/other") == left) }
        }
    }

    @Test(arguments: Remains.allCases)
    func `what a crash has left without a session is no session, and in nobody's way`(remains: Remains) async throws {
        try await withDesk { desk in
            _ = try await desk.login("--store", "file:\(desk.home)/other").result()
            _ = try await desk.login().result()
            let session = "\(desk.sessions)/\(try #require(desk.stored.first))"
            _ = try leave(remains, at: session + ".new", desk)
            try FileManager.default.removeItem(atPath: session)

            try await desk.run("token", "--json").failure(1, "sign_in_required")
            try await desk.run("token", "--json", "--store", "file:\(session)").failure(1, "sign_in_required")
            #expect(try await desk.run("status", "--json").result()["sessions"] == [])
            _ = try await desk.login().result()
            #expect(!FileManager.default.fileExists(atPath: session + ".new") && desk.stored.count == 1)
            _ = try await desk.run("token", "--json").result()
        }
    }

    private func leave(_ remains: Remains, at path: String, _ desk: Desk) throws -> Data {
        let whole = try Data(contentsOf: URL(fileURLWithPath: desk.home + "/other"))
        let contents =
            switch remains {
            case .nothing: Data()
            case .garbage: Data([0, 255, 10, 123])
            case .half: whole.prefix(whole.count / 2)
            case .whole, .link: whole
            }
        if remains == .link {
            try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: desk.home + "/other")
        } else {
            try contents.write(to: URL(fileURLWithPath: path))
        }
        return contents
    }
}

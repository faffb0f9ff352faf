import AppAuth
import AppAuthProtocol
import AppAuthSession
import Foundation
import AppAuthTestProvider
import TestFixtures
import Testing

/// A stored session whose folder disappears for a while, as an unmounted disk does, is not a session that was signed out.
@Suite(.timeLimit(.minutes(5)))
struct MissingPlaceTests {
    /// How the location of a session can be missing.
    enum Absence: CaseIterable {
        /// With its folder.
        case folder
        /// The folder is there, as an empty mount point is.
        case contents
    }

    private struct Place: Sendable {
        let root: String
        var folder: String { root + "/home" }
        var store: FileTokenStore { FileTokenStore(path: folder + "/session.json") }
        var contents: [String]? { try? FileManager.default.contentsOfDirectory(atPath: folder) }

        func remove(_ absence: Absence) throws {
            try FileManager.default.moveItem(atPath: folder, toPath: root + "/away")
            if absence == .contents {
                try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
            }
        }

        func bringBack() throws {
            try? FileManager.default.removeItem(atPath: folder)
            try FileManager.default.moveItem(atPath: root + "/away", toPath: folder)
        }
    }

    private func withPlace(_ test: (Place) async throws -> Void) async throws {
        let root = FileManager.default.temporaryDirectory.appendingPathComponent("missing-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: root) }
        try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
        try await test(Place(root: root))
    }

    @Test(.timeLimit(.minutes(1)), arguments: Absence.allCases)
    func `a session whose location is missing continues when the location is back`(absence: Absence) async throws {
        try await withPlace { location in
            try await World.run { world in
                let state = try await world.signIn(store: location.store)
                let changes = state.changes
                world.clock.advance(by: 3600)
                try location.remove(absence)
                for _ in 0..<2 {
                    let error = await authError { try await state.freshAccessToken() }
                    #expect(
                        error?.code == .store && error?.storeProblem == .unavailable, "\(String(describing: error))")
                    #expect(error?.isTemporary == true && error?.message.contains(location.folder) == true)
                }
                #expect(location.contents == (absence == .folder ? nil : []), "nothing is created in its place")
                #expect(world.provider.count(.token) == 1)
                try location.bringBack()
                _ = try await state.freshAccessToken()
                #expect(world.provider.count(.token) == 2)
                for await change in changes {
                    if case .renewed = change { break }
                    if case .ended = change { Issue.record("it is reported as ended") }
                }
            }
        }
    }

    @Test(arguments: Absence.allCases)
    func `a sign-out fails while the location is missing, and works when it is back`(absence: Absence) async throws {
        try await withPlace { location in
            try await World.run { world in
                let state = try await world.signIn(store: location.store)
                try location.remove(absence)
                #expect(await authError { try await state.forget() }?.storeProblem == .unavailable)
                try location.bringBack()
                #expect(try await location.store.load() != nil)
                try await state.forget()
                #expect(try await location.store.load() == nil)
                #expect(location.contents == ["session.json.lock"])
            }
        }
    }

    /// The lock stays, and says so.
    @Test func `a session that another process signed out is over`() async throws {
        try await withPlace { location in
            try await World.run { world in
                let state = try await world.signIn(store: location.store)
                world.clock.advance(by: 3600)
                try await location.store.update { $0 = nil }
                #expect(await authError { try await state.freshAccessToken() }?.code == .signInRequired)
            }
        }
    }

    @Test func `a location that never held a session is empty, and is created when one is stored`() async throws {
        try await withPlace { location in
            #expect(try await location.store.load() == nil)
            #expect(location.contents == nil)
            try await World.run { world in
                let record = try await world.signIn().record
                let state = try await AuthState(record: record, store: location.store, environment: world.environment)
                world.clock.advance(by: 3600)
                _ = try await state.freshAccessToken()
                #expect(try await location.store.load()?.id == record.id)
            }
        }
    }
}

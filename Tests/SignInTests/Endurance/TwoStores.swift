import AppAuthSession
import Foundation
import JOSE
import AppAuthTestProvider
import Testing

/// One session that is moved between a file and the keyring while processes use both.
struct TwoStores {
    enum Place: CaseIterable {
        case file, keyring

        var other: Place { self == .file ? .keyring : .file }
    }

    let fixture: CommandFixture
    /// The environment of the keyring.
    let bus: [String: String?]

    private var file: String { fixture.home + "/session" }

    /// Signs in, into the file.
    func login() async throws {
        _ = try await fixture.start(fixture.loginArguments(["--store", "file:\(file)"]), bus).outcome().result()
    }

    // MARK: Processes

    func token(from location: Place) throws -> ChildProcess {
        let store =
            switch location {
            case .file: ["--store", "file:\(file)"]
            case .keyring: ["--store", "keyring", "--issuer", fixture.issuer, "--client-id", "demo"]
            }
        return try fixture.start(["token", "--json"] + store, bus)
    }

    /// - Parameter changes: How many changes of a store the process lives to see; nil for all.
    func mover(to location: Place, dyingAfter changes: Int? = nil) throws -> ChildProcess {
        let end = changes.map { ["--die-after", String($0)] } ?? []
        return try program([location == .keyring ? "move" : "move-back", file] + end)
    }

    /// The library's keyring, for the entry of `sign-in`.
    private func program(_ arguments: [String]) throws -> ChildProcess {
        let entry = [
            "--application", "sign-in", "--account", "\(fixture.issuer) demo",
            "--label", "Sign-in of sign-in at \(fixture.issuer) (demo)",
        ]
        return try fixture.start([BuiltProducts.path("keyring-program")], arguments + entry, bus)
    }

    // MARK: Stored sessions

    func record(in location: Place) async throws -> AuthStateRecord? {
        switch location {
        case .file:
            guard let bytes = FileManager.default.contents(atPath: file) else { return nil }
            return try AuthStateRecord(decoding: Array(bytes), from: file)
        case .keyring:
            guard let json = try await program(["record"]).outcome().result()["record"] else { return nil }
            return try AuthStateRecord(decoding: Array(json.serialized().utf8), from: "the keyring")
        }
    }

    /// The only store that has the session.
    func home() async throws -> (location: Place, record: AuthStateRecord) {
        var found: [(Place, AuthStateRecord)] = []
        for location in Place.allCases {
            if let record = try await record(in: location) { found.append((location, record)) }
        }
        #expect(found.count == 1, "\(found.map { ($0, $1.move) })")
        let only = try #require(found.first)
        return (only.0, only.1)
    }

    func expire(in location: Place) async throws {
        switch location {
        case .file: try CommandFixture.editSession(at: file) { try $0.expire() }
        case .keyring: _ = try await program(["expire"]).outcome().result()
        }
    }

    /// Checks the invariants while no process runs: at most one of two copies is used, and a copy that only waits for
    /// the removal of the other is identical.
    func checkCopies(_ round: String) async throws {
        let (inFile, inKeyring) = (try await record(in: .file), try await record(in: .keyring))
        #expect(inFile != nil || inKeyring != nil, "\(round): the session is gone")
        guard let inFile, let inKeyring else { return }
        #expect(inFile.id == inKeyring.id, "\(round)")
        #expect(inFile.move != nil || inKeyring.move != nil, "\(round): both copies are used")
        if inFile.move != nil, inKeyring.move != nil {
            #expect(inFile.refreshToken == inKeyring.refreshToken, "\(round): two rotations")
            #expect(inFile.accessToken == inKeyring.accessToken, "\(round): two tokens")
        }
    }

    /// Completes an interrupted move. The stores determine its direction.
    func finish() async throws {
        for location in [Place.keyring, .file] {
            let found = try await mover(to: location).outcome().result()
            if found["moved"]?.bool != nil { return }
            // The other end has a copy that is on its way here, or only waits to be removed.
            #expect(found["code"]?.string == "store", "\(found)")
        }
        Issue.record("no call completes the move")
    }
}

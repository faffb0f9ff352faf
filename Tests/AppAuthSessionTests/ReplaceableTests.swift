import AppAuthProtocol
import AppAuthSession
import JOSE
import Testing

/// Which session a new one may replace in the store.
struct ReplaceableTests {
    private func record(
        client: String = "app", for resources: [String] = [], at issuer: String = "https://op.example"
    ) throws -> AuthStateRecord {
        let provider = try ProviderMetadata(issuer: Issuer(issuer), endpoints: [.token: issuer + "/token"])
        var record = try AuthStateRecord(
            client: Client(id: client, provider: provider), accessToken: nil, refreshToken: Secret("rt"))
        record.resources = resources
        return record
    }

    private func isReplaced(
        _ stored: AuthStateRecord?, by new: AuthStateRecord, _ replaceable: Replaceable
    ) async throws -> Bool {
        let store = MemoryTokenStore(stored)
        do {
            try await store.replace(with: new, if: replaceable)
        } catch let error as AuthError where error.code == .sessionReplaced {
            let left = try await store.load()
            #expect(left?.id == stored?.id)
            return false
        }
        return true
    }

    @Test func `the session that was there may be replaced, whatever it is`() async throws {
        let former = try record(client: "other", for: ["a"], at: "https://other.example")
        let replaceable = await Replaceable(in: MemoryTokenStore(former))
        #expect(try await isReplaced(former, by: record(), replaceable))
        #expect(try await isReplaced(nil, by: record(), replaceable))
    }

    @Test func `one that has come in the meantime only by the same`() async throws {
        let replaceable = await Replaceable(in: MemoryTokenStore())
        #expect(try await isReplaced(record(), by: record(), replaceable))
        for other in try [
            record(client: "other"), record(for: ["a"]), record(at: "https://other.example"),
        ] { #expect(try await !isReplaced(other, by: record(), replaceable)) }
    }

    @Test func `a session that is continued must be there`() async throws {
        let former = try record(for: ["a"])
        let replaceable = Replaceable(continuing: former)
        #expect(try await isReplaced(former, by: record(for: ["a"]), replaceable))
        #expect(try await isReplaced(record(for: ["a"]), by: record(for: ["a"]), replaceable))
        #expect(try await !isReplaced(nil, by: record(for: ["a"]), replaceable))
        #expect(try await !isReplaced(record(for: ["b"]), by: record(for: ["a"]), replaceable))
    }
}

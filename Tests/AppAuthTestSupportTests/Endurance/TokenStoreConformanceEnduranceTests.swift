import AppAuth
import AppAuthConcurrency
import AppAuthTestSupport
import Foundation
import JOSE
import Testing

/// The suite for stores, on our own and on stores that are wrong in one respect.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct TokenStoreConformanceEnduranceTests {
    @Test func `the store in memory keeps all promises`() async {
        let stores = LockedValue<[String: MemoryTokenStore]>([:])
        let violations = await TokenStoreConformance { name in
            stores.withLock { stores in
                let store = stores[name] ?? MemoryTokenStore()
                stores[name] = store
                return store
            }
        }.run()
        #expect(violations.isEmpty, "\(violations)")
    }

    @Test(arguments: [false, true])
    func `the store in a file keeps all promises`(isEncrypted: Bool) async throws {
        let keys = isEncrypted ? [try SessionEncryptionKey(id: "1", bytes: Array(repeating: 1, count: 32))] : []
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
        defer { try? FileManager.default.removeItem(atPath: folder) }
        @Sendable func path(_ name: String) -> String { "\(folder)/\(name).json" }
        var conformance = TokenStoreConformance { FileTokenStore(path: path($0), encryptionKeys: keys) }
        conformance.version = { name in
            let values = try FileManager.default.attributesOfItem(atPath: path(name))
            return "\(values[.systemFileNumber] ?? "") \(values[.modificationDate] ?? "")"
        }
        let violations = await conformance.run()
        #expect(violations.isEmpty, "\(violations)")
    }

    @Test func `the store without a flaw keeps all promises`() async {
        #expect(await violations(nil).isEmpty)
    }

    @Test(arguments: FlawedStore.Flaw.allCases)
    func `a store that breaks one promise fails that one, and no other`(flaw: FlawedStore.Flaw) async throws {
        let found = await violations(flaw)
        #expect(found.count == 1, "\(found)")
        #expect(try #require(found.first).sentence.hasPrefix(flaw.rawValue), "\(found)")
    }

    @Test func `there is a store for each promise that breaks it`() {
        for sentence in TokenStoreConformance.sentences {
            #expect(FlawedStore.Flaw.allCases.filter { sentence.hasPrefix($0.rawValue) }.count == 1, "\(sentence)")
        }
        #expect(FlawedStore.Flaw.allCases.count == TokenStoreConformance.sentences.count)
    }

    private func violations(_ flaw: FlawedStore.Flaw?) async -> [TokenStoreConformance.Violation] {
        let locations = LockedValue<[String: FlawedStore.Shared]>([:])
        let common = TaskQueue()
        @Sendable func location(_ name: String) -> FlawedStore.Shared {
            locations.withLock { locations in
                let location = locations[name] ?? FlawedStore.Shared()
                locations[name] = location
                return location
            }
        }
        var conformance = TokenStoreConformance { FlawedStore(flaw, location($0), common: common) }
        conformance.version = { name in String(location(name).state.withLock { $0.writes }) }
        // Only a check that never ends takes this long.
        conformance.patience = .seconds(flaw == nil ? 20 : 4)
        return await conformance.run()
    }
}

import Foundation
import TestFixtures
import Testing

@testable import AppAuth

/// The file descriptors that are kept for the new tokens while a refresh runs.
@Suite(.timeLimit(.minutes(2)))
struct SpareDescriptorsTests {
    /// How often this process has `/` open. Nothing else opens it.
    private var spare: Int {
        let folder = "/proc/self/fd"
        let descriptors = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return descriptors.count {
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\($0)")) == "/"
        }
    }

    // The descriptors are the process's own. Another suite may use or keep them for a moment, so each count is waited for.
    @Test func `two descriptors are kept as long as any refresh needs them`() async throws {
        for _ in 0..<2 {
            try SpareDescriptors.keep(for: "here")
            try await waitUntil { spare == 2 }
            try SpareDescriptors.keep(for: "here")
            #expect(spare <= 2)
            SpareDescriptors.drop()
            try await waitUntil { spare == 2 }
            SpareDescriptors.drop()
            try await waitUntil { spare == 0 }
        }
    }

    @Test func `work that opens files has their room, and they are kept again afterwards`() async throws {
        try SpareDescriptors.keep(for: "here")
        SpareDescriptors.use {
            #expect(spare == 0)
            SpareDescriptors.use {}
            #expect(spare == 0)
        }
        try await waitUntil { spare == 2 }
        SpareDescriptors.drop()
        SpareDescriptors.use {}
        try await waitUntil { spare == 0 }
    }

    /// In a process of its own, since every descriptor is taken.
    @Test func `if only one is available, it is not kept`() async {
        await #expect(processExitsWith: .success) {
            var last: Int32 = -1
            while case let descriptor = open("/dev/null", O_RDONLY), descriptor >= 0 { last = descriptor }
            close(last)
            let error = await authError { try SpareDescriptors.keep(for: "here") }
            try #require(error?.message == "here has no room for new tokens: Too many open files")
            // Another thread of the process may have taken it for a moment.
            try await waitUntil { open("/dev/null", O_RDONLY) == last }
        }
    }
}

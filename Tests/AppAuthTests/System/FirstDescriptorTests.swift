import AppAuthProtocol
import Foundation
import TestFixtures
import Testing

@testable import AppAuth

/// A process whose standard input is closed: the next file that it opens gets the descriptor 0, which is valid.
@Suite(.timeLimit(.minutes(2)))
struct FirstDescriptorTests {
    @Test func `a session file is read by it`() async {
        await #expect(processExitsWith: .success) {
            let folder = try StoreFolder()
            try await folder.store.replace(with: StoreFolder.record())
            close(0)
            // A reader that takes 0 for a failure would find one of these reasons.
            for number in [ENOENT, ELOOP, EACCES, EIO] {
                errno = number
                try #require(try folder.store.read() != nil)
            }
        }
    }

    @Test func `the file of a lock is opened by it`() async {
        await #expect(processExitsWith: .success) {
            let folder = try StoreFolder()
            try await folder.store.replace(with: StoreFolder.record())
            close(0)
            for earlier in [ENOENT, EACCES] {
                errno = earlier
                let place = Folder(of: folder.lockPath, location: "here")
                try LockFile(path: folder.lockPath, location: "here", folder: place).check()
                try #require(openFile(0) != folder.lockPath)
            }
        }
    }

    @Test func `a folder without enough room is found by it`() async {
        await #expect(processExitsWith: .success) {
            let root = try StoreFolder()
            let folder = Folder(of: root.path, location: "here")
            close(0)
            try folder.probe(bytes: 1)
            errno = EINVAL
            let error = await authError { try folder.probe(bytes: Int.max) }
            try #require(error?.message.hasPrefix("here has no room") == true, "\(String(describing: error))")
        }
    }

    @Test func `it is kept as a spare descriptor`() async {
        await repeatUntilFirst {
            await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
                close(0)
                errno = EMFILE
                try SpareDescriptors.keep(for: "here")
                let isFirst = openFile(0) == "/"
                SpareDescriptors.drop()
                try #require(openFile(0) != "/")
                if isFirst { print("first") }
            }
        }
    }

    @Test func `the kernel is asked by it which user connects`() async {
        await repeatUntilFirst {
            await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
                let sockets = try LoopbackSockets(host: .ipv4, ports: [0], backlog: 1)
                close(0)
                let check = try PeerCheck(.required, sockets.descriptors, in: DesktopSession(environment: [:]))
                let socket = openFile(0) ?? ""
                check.close()
                guard socket.hasPrefix("socket:") else { return }
                try #require(openFile(0) != socket)
                print("first")
            }
        }
    }

    @Test func `a browser is accepted by it`() async {
        await #expect(processExitsWith: .success) {
            let listener = try LoopbackRedirectListener()
            let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            close(0)
            try #require(WireClient.connectV4(descriptor, listener.port) == 0)
            let client = WireClient(connected: descriptor)
            client.send(request("/nothing", host: listener.authority))
            try #require(try client.response().status == 404)
        }
    }
}

/// Runs a process until one says that its work has got the descriptor 0: another thread of the process may open a file at the same
/// moment, and keep it.
private func repeatUntilFirst(_ run: () async -> ExitTest.Result?) async {
    for _ in 0..<20 {
        // The process has failed, which is recorded.
        guard let result = await run() else { return }
        if String(decoding: result.standardOutputContent, as: UTF8.self).contains("first") { return }
    }
    Issue.record("expected a process whose work gets the descriptor 0, found 20 without")
}

/// Returns what a descriptor is open for, for example `/` or `socket:[4711]`. A test asks for that, and not whether the number is
/// free: the process's other threads open files too.
private func openFile(_ descriptor: CInt) -> String? {
    try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(descriptor)")
}

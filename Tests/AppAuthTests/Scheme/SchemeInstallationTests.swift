import AppAuth
import Foundation
import Testing

/// How the app becomes the handler of its scheme, with the real xdg-mime, and the files that remain.
@Suite(.timeLimit(.minutes(5)))
struct SchemeInstallationTests {
    private let session: DesktopFixture

    init() throws { session = try DesktopFixture() }

    @Test(arguments: [
        nil, "", "[Added Associations]\ntext/plain=vi.desktop;\n",
        "[Default Applications]\ntext/plain=vi.desktop\n\n[Removed Associations]\nimage/png=gimp.desktop\n",
    ])
    func `the app is the handler while it waits, and everything is as it was afterwards`(list: String?) async throws {
        if let list { try session.write(list, to: session.listPath) }
        #expect(try await session.handler() == "")
        let listener = try await session.listener(.whileWaiting)
        #expect(try await session.handler() == DesktopFixture.entryName)
        let entry = try #require(session.entry)
        #expect(entry.contains("\nExec=/bin/true --redirect %u\n") && entry.contains("\nNoDisplay=true\n"))
        #expect(entry.contains("\nMimeType=\(DesktopFixture.type);\n"))
        listener.close()
        #expect(session.isClear)
        #expect(try await session.handler() == "")
        #expect((session.list ?? "") == (list ?? ""))
    }

    @Test(arguments: ["other.desktop", "other.desktop;third.desktop;"])
    func `the handler of before is the default again`(before: String) async throws {
        try session.addApp("other.desktop")
        let list = "[Default Applications]\n\(DesktopFixture.type)=\(before)\ntext/plain=vi.desktop\n"
        try session.write(list, to: session.listPath)
        #expect(try await session.handler() == "other.desktop")
        let listener = try await session.listener(.whileWaiting)
        #expect(try await session.handler() == DesktopFixture.entryName)
        listener.close()
        #expect(try await session.handler() == "other.desktop")
        #expect(session.list == list && session.isClear)
    }

    @Test func `a pipe in place of the list is refused without waiting for its writer`() async throws {
        try session.write("", to: session.listPath)
        unlink(session.listPath)
        try #require(mkfifo(session.listPath, 0o600) == 0)
        // A writer exists, and writes nothing.
        let writer = open(session.listPath, O_RDWR)
        defer { close(writer) }
        let error = await #expect(throws: AuthError.self) { try await session.listener(.whileWaiting) }
        #expect(error?.code == .unavailable)
        #expect(error?.message.hasSuffix("expected a regular file, found a folder, a pipe or a device") == true)
        #expect(session.isClear)
    }

    @Test func `a handler that the user chooses meanwhile stays`() async throws {
        let listener = try await session.listener(.whileWaiting)
        let list = "[Default Applications]\n\(DesktopFixture.type)=chosen.desktop\n"
        try session.write(list, to: session.listPath)
        listener.close()
        #expect(session.list == list && session.isClear)
    }

    @Test func `the handlers that a desktop lists behind the app move up`() async throws {
        let listener = try await session.listener(.whileWaiting)
        let line = "[Default Applications]\n\(DesktopFixture.type)="
        try session.write(line + "\(DesktopFixture.entryName);next.desktop;last.desktop\n", to: session.listPath)
        listener.close()
        #expect(session.list == line + "next.desktop;last.desktop\n" && session.isClear)
    }

    @Test func `of several that wait the last one clears away`() async throws {
        try session.addApp("other.desktop")
        let list = "[Default Applications]\n\(DesktopFixture.type)=other.desktop\n"
        try session.write(list, to: session.listPath)
        let first = try await session.listener(.whileWaiting)
        let second = try await session.listener(.whileWaiting)
        #expect(session.sockets.count == 2)
        first.close()
        #expect(session.sockets.count == 1)
        #expect(try await session.handler() == DesktopFixture.entryName)
        second.close()
        #expect(session.isClear && session.list == list)
    }

    @Test func `many that begin and end at once leave nothing`() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<8 { group.addTask { try await session.listener(.whileWaiting).close() } }
            try await group.waitForAll()
        }
        #expect(session.isClear && session.list == nil)
    }

    @Test func `a permanent installation stays until it is removed`() async throws {
        let redirect = try DesktopFixture.redirect(.permanent)
        let listener = try await session.listener(.permanent)
        listener.close()
        #expect(try await session.handler() == DesktopFixture.entryName)
        #expect(session.sockets.isEmpty)
        let entry = session.entry

        // A listener that waits only for a while does not remove it.
        try await session.listener(.whileWaiting).close()
        #expect(session.entry == entry && session.entry != nil)

        try await redirect.install(in: session.folders)
        #expect(session.entry == entry)
        let cache = URL(filePath: session.folders.data + "/applications/mimeinfo.cache")
        #expect(try String(contentsOf: cache, encoding: .utf8).contains(DesktopFixture.type))
        try await redirect.uninstall(from: session.folders)
        #expect(try !String(contentsOf: cache, encoding: .utf8).contains(DesktopFixture.type))
        #expect(session.isClear && session.list == nil)
        #expect(try await session.handler() == "")
        try await redirect.uninstall(from: session.folders)
    }

    @Test func `installing needs no listener, and stays after one has ended`() async throws {
        try session.addApp("other.desktop")
        let list = "[Default Applications]\n\(DesktopFixture.type)=other.desktop\n"
        try session.write(list, to: session.listPath)
        let listener = try await session.listener(.whileWaiting)
        let redirect = try DesktopFixture.redirect()
        try await redirect.install(in: session.folders)
        listener.close()
        #expect(try await session.handler() == DesktopFixture.entryName)
        try await redirect.uninstall(from: session.folders)
        #expect(session.list == list && session.entry == nil)
    }

    @Test func `where the app's package has installed it the library only waits`() async throws {
        let listener = try await session.listener(.byPackage)
        #expect(session.entry == nil && session.list == nil)
        async let query = listener.redirect(state: "s")
        #expect(try await session.deliver(DesktopFixture.uri + "?state=s"))
        #expect(try await query == "state=s")
    }

    @Test func `an entry of that name that is not the library's is left as it is`() async throws {
        try session.addApp(DesktopFixture.entryName)
        let entry = session.entry
        let error = try await #require(throws: AuthError.self) { try await session.listener(.whileWaiting) }
        #expect(error.code == .listener && error.message.contains(DesktopFixture.entryName))
        #expect(session.entry == entry && session.sockets.isEmpty)
        try await DesktopFixture.redirect().uninstall(from: session.folders)
        #expect(session.entry == entry)
    }

    @Test func `a program that is not there is no handler`() async throws {
        let redirect = try DesktopFixture.redirect(.whileWaiting, program: "/nowhere/app")
        let error = try await #require(throws: AuthError.self) {
            try await PrivateUseRedirectListener(redirect, session.folders)
        }
        #expect(error.code == .unavailable && error.message.contains("/nowhere/app"))
        #expect(session.isClear && session.list == nil)
    }

    @Test func `a list that cannot be written is an error, and nothing is left`() async throws {
        // A folder in its place: neither xdg-mime nor root can write that.
        try FileManager.default.createDirectory(atPath: session.listPath, withIntermediateDirectories: true)
        let error = try await #require(throws: AuthError.self) { try await session.listener(.whileWaiting) }
        #expect(error.code == .unavailable && error.message.contains("mimeapps.list"))
        #expect(session.isClear)
    }

    @Test func `a list that is linked from elsewhere stays a link where the library writes it`() async throws {
        let elsewhere = session.root + "/dotfiles"
        let listener = try await session.listener(.whileWaiting)
        let line = "[Default Applications]\ntext/plain=vi.desktop\n"
        try session.write(line + "\(DesktopFixture.type)=\(DesktopFixture.entryName)\n", to: elsewhere)
        try FileManager.default.removeItem(atPath: session.listPath)
        try FileManager.default.createSymbolicLink(atPath: session.listPath, withDestinationPath: elsewhere)
        listener.close()
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: session.listPath) == elsewhere)
        #expect(session.list == line)
    }
}

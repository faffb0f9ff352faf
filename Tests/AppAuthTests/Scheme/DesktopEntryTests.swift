import AppAuth
import Foundation
import Testing

/// The text of a desktop entry, and of `mimeapps.list`.
@Suite(.timeLimit(.minutes(5)))
struct DesktopEntryTests {
    private static func entry(_ handler: [String], replaced: String? = nil) -> DesktopEntry {
        DesktopEntry(
            appName: "Harbour", handler: handler, scheme: "com.example.app", isTemporary: true, replaced: replaced)
    }

    private static func line(_ name: String, in text: String) -> String? {
        text.split(separator: "\n").first { $0.hasPrefix(name + "=") }.map { String($0.dropFirst(name.count + 1)) }
    }

    @Test(arguments: [
        (["/usr/bin/app", "--redirect"], #"/usr/bin/app --redirect %u"#),
        (["/opt/My App/app"], #""/opt/My App/app" %u"#),
        (["/a", "50%"], #"/a 50%% %u"#),
        (["/a", ""], #"/a "" %u"#),
        (["/a", #"say "hi""#], #"/a "say \\"hi\\"" %u"#),
        (["/a", "$HOME`x`"], #"/a "\\$HOME\\`x\\`" %u"#),
        (["/a", #"b\c"#], #"/a "b\\\\c" %u"#),
        (["/a", "\"\u{301} $\u{301}", "%\u{301}"], "/a \"\\\\\"\u{301} \\\\$\u{301}\" %%\u{301} %u"),
        (["/a", "x;y", "~"], #"/a "x;y" "~" %u"#),
    ])
    func `a command is quoted where the specification asks for it`(handler: [String], command: String) {
        #expect(Self.line("Exec", in: Self.entry(handler).text) == command)
    }

    /// By GLib, with which GNOME starts programs.
    @Test func `the specification's own checker has nothing to say`() async throws {
        let session = try DesktopFixture()
        for handler in [["/usr/bin/true", "--redirect"], ["/opt/My App/app", "50% $x \"y\" \\"]] {
            let file = session.root + "/entry.desktop"
            try session.write(Self.entry(handler, replaced: "other.desktop;").text, to: file)
            let response = try await onThread { try run("desktop-file-validate", file) }
            #expect(response.isEmpty, "\(String(decoding: response, as: UTF8.self))")
        }
        // And it would say something.
        let file = session.root + "/entry.desktop"
        try session.write(Self.entry(["/a"]).text.replacing("%u", with: "%u %f %"), to: file)
        await #expect(throws: CommandFailure.self) { try await onThread { try run("desktop-file-validate", file) } }
    }

    @Test func `a name keeps to its line`() {
        var entry = Self.entry(["/a"])
        entry.appName = "Har\nExec=/bin/evil \\n"
        #expect(Self.line("Name", in: entry.text) == #"Har Exec=/bin/evil \\n"#)
        #expect(Self.line("Exec", in: entry.text) == "/a %u")
    }

    @Test func `an entry names the replaced one, and another app's names none`() throws {
        let notes = try #require(DesktopEntry.notes(in: Self.entry(["/a"], replaced: "b.desktop;c.desktop").text))
        #expect(notes.isTemporary && notes.replaced == "b.desktop;c.desktop")
        var permanent = Self.entry(["/a"])
        permanent.isTemporary = false
        let others = try #require(DesktopEntry.notes(in: permanent.text))
        #expect(!others.isTemporary && others.replaced == nil)
        #expect(DesktopEntry.notes(in: "[Desktop Entry]\nName=X-AppAuth-Installation\n") == nil)
    }

    // MARK: mimeapps.list

    private static let type = "x-scheme-handler/a"

    @Test(arguments: [
        ("", nil), ("[Default Applications]\nx-scheme-handler/a=b.desktop\n", "b.desktop"),
        ("[Added Associations]\nx-scheme-handler/a=b.desktop\n", nil),
        ("[Default Applications]\nx-scheme-handler/ab=b.desktop\n", nil),
        ("[Default Applications]\n\n[Added Associations]\nx-scheme-handler/a=b.desktop\n", nil),
        ("[Default Applications]\nx-scheme-handler/a=b.desktop;c.desktop;\n", "b.desktop;c.desktop;"),
    ])
    func `the default is read under its heading`(text: String, handlers: String?) {
        #expect(HandlerList(text).handlers(of: Self.type) == handlers)
        #expect(HandlerList(text).text == text)
    }

    @Test(arguments: [
        // The files that xdg-mime writes, and the same after the line is removed.
        ("\n[Default Applications]\nx-scheme-handler/a=o.desktop\n", ""),
        (
            "[Added Associations]\nb=c\n\n[Default Applications]\nx-scheme-handler/a=o.desktop\n",
            "[Added Associations]\nb=c\n"
        ),
        ("[Default Applications]\nb=c\nx-scheme-handler/a=o.desktop\n", "[Default Applications]\nb=c\n"),
        (
            "[Default Applications]\nb=c\nx-scheme-handler/a=o.desktop\n\n[X]\ny=z\n",
            "[Default Applications]\nb=c\n\n[X]\ny=z\n"
        ),
        ("[Default Applications]\nx-scheme-handler/a=o.desktop\n\n[X]\ny=z\n", "[X]\ny=z\n"),
        (
            "# mine\n[Default Applications]\nx-scheme-handler/a=o.desktop\n# kept\n",
            "# mine\n[Default Applications]\n# kept\n"
        ),
    ])
    func `a line goes, and nothing else`(text: String, rest: String) {
        var list = HandlerList(text)
        list.set(nil, for: Self.type)
        #expect(list.text == rest)
        #expect(list.isEmpty == rest.isEmpty)
    }

    @Test func `a line is replaced in place`() {
        var list = HandlerList("[Default Applications]\nx-scheme-handler/a=o.desktop\nb=c\n")
        list.set("p.desktop;q.desktop", for: Self.type)
        #expect(list.text == "[Default Applications]\nx-scheme-handler/a=p.desktop;q.desktop\nb=c\n")
        list.set(nil, for: "x-scheme-handler/other")
        #expect(list.text == "[Default Applications]\nx-scheme-handler/a=p.desktop;q.desktop\nb=c\n")
    }

    @Test(arguments: [
        ("", "[Default Applications]\nx-scheme-handler/a=o.desktop\n"),
        ("# mine\n", "# mine\n\n[Default Applications]\nx-scheme-handler/a=o.desktop\n"),
        (
            "[Added Associations]\nx-scheme-handler/a=c\n\n",
            "[Added Associations]\nx-scheme-handler/a=c\n\n\n[Default Applications]\nx-scheme-handler/a=o.desktop\n"
        ),
        (
            "[Default Applications]\nb=c\n\n[X]\ny=z\n",
            "[Default Applications]\nx-scheme-handler/a=o.desktop\nb=c\n\n[X]\ny=z\n"
        ),
        (
            "[Default Applications]\r\nb=c\r\n",
            "[Default Applications]\r\nx-scheme-handler/a=o.desktop\r\nb=c\r\n"
        ),
    ])
    func `a line that is not there is added, and goes without a trace`(text: String, longer: String) {
        var list = HandlerList(text)
        list.set("o.desktop", for: Self.type)
        #expect(list.text == longer && list.handlers(of: Self.type) == "o.desktop")
        list.set(nil, for: Self.type)
        #expect(list.text == text)
    }

    @Test func `a line may end in a carriage return and a line feed`() {
        let text = "[Default Applications]\r\nx-scheme-handler/a=o.desktop;\r\nb=c\r\n"
        var list = HandlerList(text)
        #expect(list.handlers(of: Self.type) == "o.desktop;")
        list.set("p.desktop", for: Self.type)
        #expect(list.text == "[Default Applications]\r\nx-scheme-handler/a=p.desktop\r\nb=c\r\n")
        list.set("o.desktop;", for: Self.type)
        #expect(list.text == text)
        list.set(nil, for: Self.type)
        #expect(list.text == "[Default Applications]\r\nb=c\r\n")
        let mixed = HandlerList("[Default Applications]\nx-scheme-handler/a=o.desktop\r\nb=c\n")
        #expect(mixed.handlers(of: Self.type) == "o.desktop")
    }
}

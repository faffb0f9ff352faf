internal import AppAuth
internal import AppAuthProtocol
internal import AppAuthSession

/// The invariants of a desktop's files: `mimeapps.list` and the entry of an app.
enum DesktopFiles {
    private static let type = "x-scheme-handler/app"

    @Sendable static func check(_ input: [UInt8]) {
        let text = String(decoding: input, as: UTF8.self)
        let list = HandlerList(text)
        expect(list.text.isExactly(text), "read and written: another text")
        let handlers = list.handlers(of: type)
        expect(handlers?.utf8.contains(UInt8(ascii: "\n")) != true, "a value of several lines")
        var changed = list
        changed.set("a.desktop;", for: type)
        expect(changed.handlers(of: type) == "a.desktop;", "another value than was set")
        if let handlers {
            expect(lineCount(changed.text) == lineCount(text), "another line was changed")
            changed.set(handlers, for: type)
            expect(changed.text.isExactly(text), "set and put back: another text")
            changed.set(nil, for: type)
            expect(lineCount(changed.text) < lineCount(text), "a line that was taken away and is there")
        } else {
            changed.set(nil, for: type)
            expect(changed.handlers(of: type) == nil, "a line that was taken away and is there")
            // A heading without lines goes, too. A last line that has no end gets one.
            let isSame = [text, text + "\n"].contains { $0.isExactly(changed.text) }
            expect(isSame || text.contains("[Default Applications]"), "added and taken away: another text")
        }
        _ = DesktopEntry.notes(in: text)

        let pieces = text.split(separator: "\n", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let entry = DesktopEntry(
            appName: pieces[0], handler: ["/usr/bin/app", pieces[pieces.count - 1].onOneLine], scheme: "app",
            isTemporary: true, replaced: handlers)
        expect(lineCount(entry.text) == lineCount(least.text), "an entry with more lines")
        let notes = DesktopEntry.notes(in: entry.text)
        expect(notes?.isTemporary == true, "an entry whose kind was lost")
        let replaced = handlers.flatMap { $0.isEmpty ? nil : $0 }
        expect((notes?.replaced ?? "").isExactly(replaced ?? ""), "an entry that puts back another handler")
    }

    private static let least = DesktopEntry(
        appName: "a", handler: ["/usr/bin/app"], scheme: "app", isTemporary: true, replaced: nil)

    private static func lineCount(_ text: String) -> Int { text.utf8.count { $0 == UInt8(ascii: "\n") } + 1 }
}

import AppAuth
import AppAuthProtocol
import Foundation
import JOSE
import Testing

/// Command lines to paste: each shell must read the words that were meant.
@Suite(.timeLimit(.minutes(5)))
struct ShellLineTests {
    private static let words =
        [
            "", "plain", "'", "\\", "''", "\\\\", "\\'", "'\\'", "it's", "a\\", "a\\' ; touch pwned ; '",
            "x'\\'';touch pwned;'",
            "!", "!!", "a!b", "'!'", "it's !x", "\\!x", "a\\!'b!c", "^a^b", "$HOME", "`id`", "$(id)", "${HOME}", "(id)",
            "~",
            "~root", "x=~", "=ls", "--store==ls", "--scope=", "%self", "%1", "a%b", "*", "?", "[a]", "{a,b}",
            "{a..c}", "#x", ";",
            "&",
            "|", "<", ">", "-n", "--", "-", "\"", "\"'\\\"", "@(a)", "\\n", "a b", " ", "é ß 漢 \u{A0}’‘", "a  b   c",
            "   ", "'\u{301}",
            "\\\u{301}", "👩🏽", "https://op.example/a?b=c&d='e'", "file:/home/zoe's/a\\b",
        ] + random

    /// Words of special characters, the same each time.
    private static let random: [String] = {
        let characters = Array("ab '\\\"!$`~=%*?{}[]#;&|<>()-^é:@,.")
        var state: UInt64 = 33
        func next(_ limit: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % limit
        }
        return (0..<300).map { _ in
            String((0...next(11)).map { _ in characters[next(characters.count)] })
        }
    }()

    /// Runs a shell in a folder of its own, and returns the words that a program of it has received.
    private func words(of shell: [String], reading script: String) throws -> [String] {
        let folder = FileManager.default.temporaryDirectory.appending(path: "shell-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: folder) }
        let (process, input) = (Process(), folder.appending(path: "script"))
        try Data(script.utf8).write(to: input)
        (process.executableURL, process.arguments) = (URL(filePath: "/usr/bin/env"), shell)
        process.currentDirectoryURL = folder
        process.environment = ["PATH": "/usr/bin:/bin", "HOME": folder.path, "TERM": "dumb", "LANG": "C.UTF-8"]
        process.standardInput = try FileHandle(forReadingFrom: input)
        (process.standardOutput, process.standardError) = (FileHandle.nullDevice, FileHandle.nullDevice)
        try process.run()
        process.waitUntilExit()
        #expect(!FileManager.default.fileExists(atPath: folder.appending(path: "pwned").path))
        let output = try Data(contentsOf: folder.appending(path: "out"))
        return String(decoding: output, as: UTF8.self).components(separatedBy: "\0").dropLast()
    }

    private static let shells = [
        ["sh"], ["dash"], ["bash", "--norc"], ["bash", "--posix"], ["zsh", "-f"], ["fish", "--no-config"],
        // With the history of commands, to which `!` refers.
        ["bash", "--norc", "-i"], ["zsh", "-f", "-i"], ["zsh", "-f", "-i", "-o", "rcquotes", "-o", "magicequalsubst"],
        ["fish", "--no-config", "-i"],
    ]

    @Test(arguments: shells)
    func `each shell reads the words that were meant`(shell: [String]) throws {
        let lines = Self.words.map { word in
            [#"/usr/bin/printf '%s\0'"#, [word].shellLine, ">> out"].joined(separator: " ")
        }
        let received = try words(of: shell, reading: lines.joined(separator: "\n") + "\nexit\n")
        #expect(received.count == Self.words.count)
        for (word, found) in zip(Self.words, received) where !found.utf8.elementsEqual(word.utf8) {
            Issue.record("expected \(word), found \(found)")
        }
    }

    /// A server could continue a message with a command to paste.
    @Test(arguments: shells)
    func `each shell reads somebody else's text in a message as one word`(shell: [String]) throws {
        let texts =
            Self.words + [
                "a\"; touch pwned #", "$(touch pwned)", "`touch pwned`", "(touch pwned)", "a\\\"; touch pwned #",
            ]
        // Interactive shells replace what looks like a command of the history, which is the user's own, in plain words.
        let shown = texts.filter { !$0.contains(/[!^]/) }.map(\.foundText)
        let line = #"/usr/bin/printf '%s\0' \#(shown.joined(separator: " ")) > out"#
        let received = try words(of: shell, reading: line + "\nexit\n")
        #expect(received.count == shown.count)
        for (text, found) in zip(shown, received) where !found.utf8.elementsEqual(text.dropFirst().dropLast().utf8) {
            Issue.record("expected \(text), found \(found)")
        }
    }

    @Test func `somebody else's text in a message has no quotes of its own, and no run of blanks`() {
        for quote
            in "“”„‟«»＂❝❞〝〞〟˝ˮʺ״″‶🙶🙷🙸ײ˶˵᳓〃゛ﾞ⁗‴΅῭⹂¨‷'‘’‚‛‹›＇❛❜ʼʻˈ׳′‵ꞌ´՚΄ˊᛌᑊ᾿ߴ`\u{1FFD}\u{374}\u{1FEF}\u{FF40}\u{1FBD}\u{1FFE}\u{7F5}\u{2BD}\u{2CB}\u{16F51}\u{1425}"
            .unicodeScalars
        {
            #expect("a\(quote)b".foundText == "'a’b'", "\(quote)")
        }
        #expect("a''b′′c".foundText == "'a’b’c'")
        for blanks in [
            " \u{34F} \u{34F}", " \u{FE0F} ", "\u{1D159}\u{E0100}\u{16FE4}", " \u{30E}", " \u{308}\u{20DD}", "  ",
            " \u{A0}", "\u{E027}\u{E022}", "\t\r\n", "\u{2800}\u{3164}\u{115F}", "\u{3000} \u{200B}",
        ] {
            #expect("a\(blanks)b c".foundText == "'a b c'")
        }
    }

    @Test(arguments: ["\u{E100}", "\u{F4FF}", "\u{F700}", "\u{F8FF}", "\u{10FFFD}"])
    func `the icons of a font are shown`(icon: String) {
        #expect("a\(icon)".quotedForShell == "'a\(icon)'" && "a\(icon)b".foundText == "'a\(icon)b'")
    }

    @Test func `the words are one line, with spaces between them`() {
        #expect(["sign-in", "login", "--scope", "openid email"].shellLine == "sign-in login --scope 'openid email'")
        #expect(["a=b", ""].shellLine == "'a=b' ''")
        // To the parsers of options, `--` ends them, also where a value is expected.
        let words = ["sign-in", "register", "--scope", "--", "--client-name", ""]
        #expect(words.shellLine == "sign-in register '--scope=--' --client-name=")
    }

    /// What follows them would have a line of a terminal for itself.
    @Test(arguments: ["  ", "   ", " \u{A0}", "\u{3000} ", "\u{3164}\u{3164}"])
    func `a line has no blanks in a row`(blanks: String) {
        let line = ["x", "a\(blanks)touch pwned"].shellLine
        #expect(line.withSingleBlanks.unicodeScalars.count == line.unicodeScalars.count && line.contains("'\"\"'"))
        #expect(["x", "a b c"].shellLine == "x 'a b c'")
    }

    /// A message would cut it within its quotes.
    @Test(arguments: [(2990, true), (2999, false)])
    func `nor is it longer than a message takes`(length: Int, isShown: Bool) throws {
        let line = ["sign-in", String(repeating: ";", count: length)].shellLine
        #expect(line.hasPrefix("sign-in ") == isShown)
        #expect(isShown || line == "(a line that is not shown, because it is too long)")
        let error = AuthError(.store, .store, String(repeating: "x", count: 900) + line, outcome: .notSent)
        #expect(error.message.hasSuffix(line))
    }

    /// No quotes protect from these: a terminal acts on them, and a shell runs a line at its end.
    @Test(
        arguments: [
            "\n", "\r", "\u{0}", "\u{1B}", "\t", "\u{7F}", "\u{9B}", "\u{202E}", "\u{2028}", "\u{200B}",
            // zsh takes them for a quote and a space.
            "\u{E000}", "\u{E020}", "\u{E027}", "\u{E0FF}",
            // fish drops them.
            "\u{F600}", "\u{F6FF}", Unicode.Scalar(0xFDD0)!, Unicode.Scalar(0xFDEF)!,
        ] as [Unicode.Scalar])
    func `a word that no line can contain is not shown`(character: Unicode.Scalar) {
        let word = "a\(character)touch pwned"
        let kind =
            switch character.properties.generalCategory {
            case .control: "control characters"
            case .privateUse, .unassigned: "characters that a shell can misread"
            default: "invisible characters"
            }
        #expect(word.quotedForShell == nil)
        for (words, what) in [(["x", "--client-id", word], "the value of --client-id"), (["x", word], "a word")] {
            #expect(words.shellLine == "(a line that is not shown, because \(what) has \(kind))")
        }
    }
}

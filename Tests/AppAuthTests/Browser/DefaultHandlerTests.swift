import AppAuth
import FoundationEssentials
import Glibc
import Testing

/// The lookup of default programs (MIME Applications Associations Specification, 2).
struct DefaultHandlerTests {
    /// The default with these lists in a folder of the test's own.
    private func entry(
        _ lists: [String: String], _ changes: [String: String] = [:], pipe: String? = nil, isInstalled: Bool = false
    ) throws -> String? {
        let folder = FileManager.default.temporaryDirectory.path + "/lists-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        for (path, text) in lists {
            let file = URL(filePath: "\(folder)/\(path)")
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(text.utf8).write(to: file)
        }
        if let pipe { try #require(mkfifo("\(folder)/\(pipe)", 0o600) == 0) }
        let environment = [
            "HOME": folder, "XDG_CONFIG_DIRS": folder + "/etc", "XDG_DATA_HOME": folder + "/data",
            "XDG_DATA_DIRS": "\(folder)/a:\(folder)/b",
        ]
        let all = environment.merging(changes.mapValues { $0.replacing("FOLDER", with: folder) }) { $1 }
        let type = "x-scheme-handler/https"
        return isInstalled ? DefaultHandler.installed(for: type, in: all) : DefaultHandler.entry(for: type, in: all)
    }

    private static func list(_ entry: String) -> String { "[Default Applications]\nx-scheme-handler/https=\(entry)\n" }

    @Test(arguments: [
        ("[Default Applications]\nx-scheme-handler/https=a.desktop\n", "a.desktop"),
        ("[Default Applications]\ntext/html=b.desktop\nx-scheme-handler/https=a.desktop;c.desktop;\n", "a.desktop"),
        ("[Added Associations]\nx-scheme-handler/https=b.desktop\n[Default Applications]\n", nil),
        ("[Default Applications]\n[Added Associations]\nx-scheme-handler/https=b.desktop\n", nil),
        ("[Default Applications]\nx-scheme-handler/http=a.desktop\n", nil),
        ("[Default Applications]\nx-scheme-handler/https=\n", nil), ("", nil),
    ])
    func `the first of the defaults for https counts`(_ list: String, _ found: String?) throws {
        #expect(try entry([".config/mimeapps.list": list]) == found)
    }

    @Test(arguments: [
        // The default, the cache, the file of a program, and what is found.
        ("b.desktop", "", "a/applications/b.desktop", "b.desktop"), ("b.desktop", "", "a/b.desktop", nil),
        ("gone.desktop;b.desktop", "", "data/applications/b.desktop", "b.desktop"),
        ("kde-b.desktop", "", "b/applications/kde/b.desktop", "kde-b.desktop"),
        ("gone.desktop", "b.desktop;", "b/applications/b.desktop", "b.desktop"),
        ("", "gone.desktop;b.desktop;", "b/applications/b.desktop", "b.desktop"),
        ("", "gone.desktop;", "b/applications/b.desktop", nil), ("", "", "b/applications/b.desktop", nil),
    ])
    func `a program that is installed counts, and the default before others`(
        list: String, cache: String, file: String, found: String?
    ) throws {
        let files = [
            "etc/mimeapps.list": Self.list(list), file: "",
            "a/applications/mimeinfo.cache": "[MIME Cache]\nx-scheme-handler/https=\(cache)\n",
        ]
        #expect(try entry(files, isInstalled: true) == found)
    }

    @Test func `a pipe in place of a list is skipped without waiting for its writer`() throws {
        let lists = ["etc/mimeapps.list": Self.list("a.desktop"), ".config/other": ""]
        #expect(try entry(lists, pipe: ".config/mimeapps.list") == "a.desktop")
    }

    @Test func `the user's list counts before the system's`() throws {
        var lists = [
            ".config/mimeapps.list": Self.list("1"), "etc/mimeapps.list": Self.list("2"),
            "data/applications/mimeapps.list": Self.list("3"), "a/applications/mimeapps.list": Self.list("4"),
            "b/applications/mimeapps.list": Self.list("5"),
        ]
        for path in lists.keys.sorted(by: { lists[$0, default: ""] < lists[$1, default: ""] }) {
            #expect(try entry(lists) == lists[path]?.split(separator: "=").last.map { String($0.dropLast()) })
            lists[path] = nil
        }
        #expect(try entry(lists) == nil)
    }

    @Test func `its folder can be another, and the desktop that runs has a list of its own`() throws {
        let lists = ["own/mimeapps.list": Self.list("own"), ".config/mimeapps.list": Self.list("home")]
        #expect(try entry(lists, ["XDG_CONFIG_HOME": "FOLDER/own"]) == "own")
        let desktop = ["own/gnome-mimeapps.list": Self.list("gnome"), "own/mimeapps.list": Self.list("own")]
        #expect(try entry(desktop, ["XDG_CONFIG_HOME": "FOLDER/own"]) == "own")
        let running = ["XDG_CONFIG_HOME": "FOLDER/own", "XDG_CURRENT_DESKTOP": "ubuntu:GNOME"]
        #expect(try entry(desktop, running) == "gnome")
    }
}

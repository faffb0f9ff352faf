/// The desktop's default program for https, read from the files that xdg-open reads (MIME Applications Associations
/// Specification, 2 and 5) without starting a program.
package enum DefaultBrowser {
    /// Returns the first default that is set.
    package static func entry(in environment: [String: String]) -> String? {
        lists(in: environment).lazy.compactMap { path in
            (try? InputFile.read(path, atMost: 1 << 20)).flatMap { entry(in: String(decoding: $0, as: UTF8.self)) }
        }.first
    }

    /// Returns the first entry for https among the defaults of a mimeapps.list.
    private static func entry(in list: String) -> String? {
        let section = list.split(whereSeparator: \.isNewline).drop { $0 != "[Default Applications]" }.dropFirst()
            .prefix { !$0.hasPrefix("[") }
        let line = section.first { $0.hasPrefix("x-scheme-handler/https=") }
        return line.flatMap { $0.drop { $0 != "=" }.dropFirst().split(separator: ";").first.map(String.init) }
    }

    /// Returns the user's lists before the system's, and those of the current desktop before the common one.
    private static func lists(in environment: [String: String]) -> [String] {
        func folders(_ name: String, _ standard: String) -> [String] {
            let value = environment[name].flatMap { $0.isEmpty ? nil : $0 } ?? standard
            return value.split(separator: ":").filter { $0.hasPrefix("/") }.map(String.init)
        }
        let home = environment["HOME"] ?? ""
        let locations =
            folders("XDG_CONFIG_HOME", home + "/.config") + folders("XDG_CONFIG_DIRS", "/etc/xdg")
            + (folders("XDG_DATA_HOME", home + "/.local/share")
            + folders("XDG_DATA_DIRS", "/usr/local/share:/usr/share")).map { $0 + "/applications" }
        let desktops = environment["XDG_CURRENT_DESKTOP", default: ""].lowercased().split(separator: ":")
        let names = desktops.map { "/\($0)-mimeapps.list" } + ["/mimeapps.list"]
        return locations.flatMap { location in names.map { location + $0 } }
    }
}

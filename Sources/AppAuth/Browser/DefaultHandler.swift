internal import Glibc

/// The desktop's default program for a type, read from the files that xdg-open reads (MIME Applications Associations
/// Specification, 2 and 5) without starting a program.
package enum DefaultHandler {
    /// Returns the first default that is set.
    package static func entry(for type: String, in environment: [String: String]) -> String? {
        entries(for: type, in: lists(in: environment)).first { _ in true }
    }

    /// Returns the first default that is installed, or else an installed program that says that it handles the type, if the
    /// cache of the desktop's programs (`mimeinfo.cache`) has it.
    package static func installed(for type: String, in environment: [String: String]) -> String? {
        let folders = dataFolders(in: environment)
        return entries(for: type, in: lists(in: environment) + folders.map { $0 + "/mimeinfo.cache" }).first { name in
            // A hyphen may stand for a folder (Desktop Menu Specification, 2.1).
            let paths = [name, name.replacing("-", with: "/", maxReplacements: 1)]
            return folders.contains { folder in paths.contains { access("\(folder)/\($0)", F_OK) == 0 } }
        }
    }

    private static func entries(for type: String, in files: [String]) -> some Sequence<String> {
        files.lazy.flatMap { path -> [String] in
            guard let bytes = try? InputFile.read(path, atMost: 1 << 20) else { return [] }
            let handlers = HandlerList(String(decoding: bytes, as: UTF8.self)).handlers(of: type)
            return handlers?.split(separator: ";").map(String.init) ?? []
        }
    }

    /// Returns the user's lists before the system's, and those of the current desktop before the common one.
    private static func lists(in environment: [String: String]) -> [String] {
        let home = environment["HOME"] ?? ""
        let locations =
            folders("XDG_CONFIG_HOME", home + "/.config", environment)
            + folders("XDG_CONFIG_DIRS", "/etc/xdg", environment) + dataFolders(in: environment)
        let desktops = environment["XDG_CURRENT_DESKTOP", default: ""].lowercased().split(separator: ":")
        let names = desktops.map { "/\($0)-mimeapps.list" } + ["/mimeapps.list"]
        return locations.flatMap { location in names.map { location + $0 } }
    }

    private static func dataFolders(in environment: [String: String]) -> [String] {
        let home = environment["HOME"] ?? ""
        return
            (folders("XDG_DATA_HOME", home + "/.local/share", environment)
            + folders("XDG_DATA_DIRS", "/usr/local/share:/usr/share", environment)).map { $0 + "/applications" }
    }

    private static func folders(_ name: String, _ standard: String, _ environment: [String: String]) -> [String] {
        let value = environment[name].flatMap { $0.isEmpty ? nil : $0 } ?? standard
        return value.split(separator: ":").filter { $0.hasPrefix("/") }.map(String.init)
    }
}

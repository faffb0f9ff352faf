internal import FoundationEssentials

extension String {
    /// The path as an absolute one, which is stored: later commands may run in another folder.
    var absolutePath: String { hasPrefix("/") ? self : "\(FileManager.default.currentDirectoryPath)/\(self)" }
}

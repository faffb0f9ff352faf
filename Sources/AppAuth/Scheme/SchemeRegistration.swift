internal import AppAuthProtocol
internal import Glibc

/// The desktop entry of a scheme, and its line in `mimeapps.list` that makes it the default.
///
/// The entry records the handler that it replaced and whether it is permanent. If a process dies, a later one can
/// restore the previous state.
package struct SchemeRegistration: Sendable {
    let scheme: String
    let folders: DesktopFolders
    let folder: DeliveryFolder

    package init(_ scheme: String, _ folders: DesktopFolders) {
        (self.scheme, self.folders, folder) = (scheme, folders, DeliveryFolder(folders, scheme: scheme))
    }

    /// The file name of the entry, which is also its name in `mimeapps.list`.
    package var name: String { "appauth-redirect-\(scheme).desktop" }
    private var type: String { "x-scheme-handler/" + scheme }
    private var entry: DesktopFile { DesktopFile(path: "\(folders.data)/applications/\(name)") }
    private var list: DesktopFile { DesktopFile(path: folders.configuration + "/mimeapps.list") }

    private var handlers: String? { get throws { try list.read().flatMap { HandlerList($0).handlers(of: type) } } }

    /// Writes the desktop entry, and makes it the default as xdg-mime does. Call it under the lock. A permanent entry does not
    /// become temporary.
    func write(_ redirect: PrivateUseRedirect, isTemporary: Bool) throws {
        let program = redirect.handler[0]
        guard access(program, X_OK) == 0 else {
            throw AuthError(
                .unavailable, .redirect,
                "the program \(program) for the desktop entry cannot be run: \(SystemError.text(errno))",
                outcome: .notSent)
        }
        let (old, handlers) = (try entry.read(), try handlers)
        let notes = old.flatMap(DesktopEntry.notes)
        guard old == nil || notes != nil else {
            throw AuthError(
                .listener, .redirect, "\(entry.path) was not written by this library. It was not changed",
                outcome: .notSent)
        }
        let new = DesktopEntry(
            appName: redirect.appName, handler: redirect.handler, scheme: scheme,
            isTemporary: isTemporary && notes?.isTemporary != false,
            replaced: isOurs(handlers) ? notes?.replaced : handlers)
        if new.text != old { try entry.write(new.text) }
        guard !isOurs(handlers) else { return }
        var all = HandlerList(try list.read() ?? "")
        all.set(name, for: type)
        try list.write(all.text)
    }

    /// Updates the cache in which some programs look up types. A default does not need it, so a temporary entry does
    /// without. If update-desktop-database is missing, there is no cache.
    func updateCache() async {
        _ = await DetachedProcess.start(
            ["update-desktop-database", folders.data + "/applications"], patience: .seconds(10))
    }

    /// Removes the library's entry, if it exists, and restores the handler that it replaced, unless another handler was
    /// chosen since. Call it under the lock.
    ///
    /// - Parameter ifTemporary: Whether a permanent entry stays.
    func remove(ifTemporary: Bool) throws {
        guard let notes = try entry.read().flatMap(DesktopEntry.notes), notes.isTemporary || !ifTemporary else {
            return
        }
        if let text = try list.read() {
            var handlers = HandlerList(text)
            let named = handlers.handlers(of: type)
            if isOurs(named) {
                let others = named.flatMap { $0.split(separator: ";").dropFirst().joined(separator: ";") } ?? ""
                handlers.set(others.isEmpty ? notes.replaced : others, for: type)
                if handlers.isEmpty { try list.remove() } else { try list.write(handlers.text) }
            }
        }
        try entry.remove()
    }

    private func isOurs(_ handlers: String?) -> Bool { handlers?.split(separator: ";").first.map(String.init) == name }
}

internal import AppAuth
internal import ArgumentParser

/// `sign-in` without a command, on a terminal: what is stored, and the commands that come next.
struct Overview: Command {
    @OptionGroup var status: Status
    var common: CommonOptions { status.common }

    func run(_ console: Console, limit: Duration) async throws -> Int32 {
        let (listed, _) = try await status.list(console, limit)
        let next = try await Self.next(listed, console, limit).map { "  \($0)\n" }.joined()
        let title = Console.styled("Next:", .bold, on: .output)
        try console.print(Array("\(Status.text(listed))\n\n\(title)\n\(next)".utf8))
        return 0
    }

    private static func next(
        _ listed: [ListedSession], _ console: Console, _ limit: Duration
    ) async throws -> [String] {
        guard !listed.isEmpty else { return ["sign-in login", "sign-in demo"] }
        var options = SessionOptions()
        (options.profile, options.issuer, options.clientID, options.store) = (nil, nil, nil, nil)
        // What a command that names no session takes; it fails if there are several.
        let found = try? await options.find(within: limit)?.location
        let own = listed.first { $0.store.location == found }
        let session = own ?? listed.first(where: \.isSignedIn) ?? listed[0]
        guard session.isSignedIn else {
            options.profile = session.profile
            return [try options.line(session.store, session.record, console).shellLine]
        }
        guard own == nil else { return ["sign-in token", "sign-in request URL"] }
        if let name = session.profile?.name { return ["sign-in use \(name)", "sign-in token --profile \(name)"] }
        let stored = listed.compactMap(\.entry)
        let choice = zip(stored, SessionOptions.choices(stored)).first { $0.0.store.location == session.store.location }
        return ["token", "request URL"].map { "sign-in \($0) \(choice?.1 ?? "")" }
    }
}

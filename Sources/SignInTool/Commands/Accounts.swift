internal import AppAuth
internal import ArgumentParser

/// The command `sign-in accounts`.
struct Accounts: Command {
    static let configuration = CommandConfiguration(
        commandName: "accounts", abstract: "Lists the profiles and the other sessions, and which one is in use.",
        discussion: "Example: sign-in accounts")

    @Flag(help: .json) var json = false
    @OptionGroup var common: CommonOptions

    func run(_ console: Console, limit: Duration) async throws -> Int32 {
        var inUse: Profile?
        var failure: AuthError?
        // What is wrong about the choice hides no account.
        do { inUse = try Profile.chosen(nil, lineNamesSession: false) } catch let wrong as WrongUsage {
            console.note(wrong.message)
        } catch let error as AuthError { failure = error }
        let stores = try StateFolder.storesWithProfiles()
        let entries = try await StateFolder.entries(stores.map { ($0.store.within(limit), $0.profile) })
        let accounts = stores.map { store, profile in
            let entry = entries.first { $0.store.location == store.location }
            return Self.account(profile, entry, store.shownLocation, isInUse: profile == inUse)
        }
        let result: JSON.Object = ["accounts": .array(accounts.map(\.json))]
        guard let failure else {
            try console.succeed(.object(result), text: Self.text(accounts))
            return 0
        }
        if !json { try console.print(Array((Self.text(accounts) + "\n").utf8)) }
        console.fail(code: failure.code.rawValue, failure.message, with: result)
        return 1
    }

    private static func account(
        _ profile: Profile?, _ entry: StateFolder.Entry?, _ location: String, isInUse: Bool
    ) -> (json: JSON, state: String) {
        let record = try? entry?.record.get()
        let line = (try? profile?.signIn).map(SignInLine.init)
        let name = entry?.name
        func text(_ value: String?) -> JSON { value.map(JSON.string) ?? .null }
        let state = entry.map(Self.state) ?? "signed_out"
        let json: JSON = [
            "profile": text(profile?.name), "in_use": .bool(profile != nil && isInUse),
            "user": text(record?.idToken?.claims.shortName), "sub": text(record?.idToken?.subject),
            "issuer": text(name?.issuer ?? line?.value(of: "--issuer")),
            "client_id": text(name?.clientID ?? line?.value(of: "--client-id")), "store": .string(location),
            "state": .string(state),
        ]
        return (json, record?.stateDescription ?? state.replacing("_", with: " "))
    }

    private static func state(_ entry: StateFolder.Entry) -> String {
        guard case .success(let record) = entry.record else { return "unreadable" }
        return record.state
    }

    private static func text(_ accounts: [(json: JSON, state: String)]) -> String {
        guard !accounts.isEmpty else {
            return "There are no accounts. Sign in with: sign-in login --profile NAME --issuer URL --client-id ID"
        }
        var table = Table(header: ["", "PROFILE", "USER", "ISSUER", "STATE", "STORE"])
        for (account, state) in accounts {
            func text(_ name: String) -> String { account[name]?.string ?? "–" }
            let mark = account["in_use"] == true ? "*" : " "
            table.rows.append([mark, text("profile"), text("user"), text("issuer"), state, text("store")])
        }
        return table.text
    }
}

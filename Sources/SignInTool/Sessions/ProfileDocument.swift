internal import AppAuth
package import JOSE

/// What a profile remembers, as JSON for another machine: `sign-in export` writes it, and `sign-in import` reads it.
///
/// A document may come from anybody. So it names nothing of the machine that reads it: the client's secret, for example, would
/// be any file that the document names, and would be sent to its issuer.
package struct ProfileDocument {
    /// The name of the profile, if the document has one.
    let profile: Profile?
    /// The command and its options that mean the same on each machine.
    package let words: [String]
    /// The options that name something of the machine on which the profile was, and their values.
    package let local: [(name: String, value: String)]

    private enum Kind {
        case text, url, list, flag
        /// A file, a profile or a key of one machine. A store that has no path is the same on each.
        case local
    }

    /// All options that a profile remembers, in the order in which they are shown.
    private static let kinds: KeyValuePairs<String, Kind> = [
        "--issuer": .url, "--preset": .text, "--metadata-url": .url, "--authorization-endpoint": .url,
        "--token-endpoint": .url, "--device-endpoint": .url, "--resource": .list, "--client-id": .text,
        "--client-document": .text,
        "--scope": .text, "--client-auth": .text, "--assertion-audience": .text, "--trusted-audience": .list,
        "--redirect-uri": .text, "--redirect-host": .text, "--redirect-port": .list, "--redirect-path": .text,
        "--prompt": .text, "--login-hint": .text, "--username": .text, "--max-age": .text, "--acr-values": .text,
        "--ui-locales": .text, "--param": .list, "--par": .flag, "--dpop": .flag, "--key-in": .text,
        "--no-browser": .flag, "--proxy-auth": .text, "--store": .local, "--client-secret-file": .local,
        "--client-key": .local, "--client-assertion-file": .local, "--password-file": .local, "--ca-file": .local,
        "--from": .local, "--redirect-https": .local, "--redirect-key": .local,
    ]

    /// The member that says what the document is; its value is the version of the format.
    private static let mark = "sign_in_profile"
    /// The most bytes of a document. A user has to read it.
    static let limit = 16 << 10
    private static let longest = 1000

    init(_ profile: Profile?, _ line: SignInLine) {
        let isLocal = { (option: SignInLine.Option) in
            let store = option.name == "--store" ? option.value.flatMap { try? StoreChoice($0) } : nil
            return Self.kind(of: option.name) == .local && (store == nil || store?.path != nil)
        }
        self.profile = profile
        words = line.words.prefix(1) + line.options.filter { !isLocal($0) }.flatMap(\.words)
        local = line.options.filter(isLocal).map { ($0.name, $0.value ?? "") }
    }

    private static func kind(of option: String) -> Kind? { kinds.first { $0.key == option }?.value }

    private static func member(for option: String) -> String { String(option.dropFirst(2).replacing("-", with: "_")) }

    /// - Throws: ``AuthError`` if the profile has an option that no document has.
    package var json: JSON {
        get throws {
            var json: JSON.Object = [Self.mark: 1, "profile": profile.map { JSON.string($0.name) } ?? .null]
            json["command"] = words.first.map(JSON.string)
            let own = SignInLine(words).options.map { ($0.name, $0.value ?? "") }
            for (option, value) in own + local.map({ ($0.name, $0.value) }) {
                let member = Self.member(for: option)
                switch Self.kind(of: option) {
                case .flag: json[member] = true
                case .list: json[member] = .array((json[member]?.array ?? []) + [.string(value)])
                case .text, .url, .local: json[member] = .string(value)
                case nil: throw Self.refusal("the profile has \(option.foundText), which cannot be exported")
                }
            }
            return .object(json)
        }
    }

    /// Reads a document that another person may have written.
    ///
    /// - Throws: ``AuthError`` if it is not exactly what `sign-in export` writes, or has a text that would not be shown as it
    ///   is.
    package init(parsing bytes: [UInt8]) throws {
        let object: JSON.Object?
        do { object = try JSON(parsing: bytes).object } catch { throw Self.refusal("no JSON: \(error)") }
        guard let object, object[Self.mark] == 1 else {
            throw Self.refusal("expected an object with \(Self.mark.foundText): 1, as 'sign-in export' writes it")
        }
        guard let command = object["command"]?.string, SignInLine.commands.contains(command) else {
            throw Self.refusal(
                "expected 'command' to be \(SignInLine.commands.joined(separator: ", ")), found \(object["command"].foundText)"
            )
        }
        let options = Dictionary(uniqueKeysWithValues: Self.kinds.map { (Self.member(for: $0.key), $0) })
        var words = [command]
        for member in object.members where ![Self.mark, "profile", "command"].contains(member.name) {
            guard let (option, kind) = options[member.name] else {
                throw Self.refusal("\(Self.mark.foundText) has no member \(member.name.foundText)")
            }
            words += try Self.words(option, kind, member)
        }
        let name = try object["profile"].map { try Self.text($0, of: "profile") }
        let profile = name.flatMap(Profile.init(argument:))
        if let name, profile == nil { throw Self.refusal("expected 'profile' to be a name, found \(name.foundText)") }
        self.init(profile, SignInLine(words))
    }

    private static func words(_ option: String, _ kind: Kind, _ member: JSON.Object.Member) throws -> [String] {
        switch kind {
        case .flag:
            guard member.value == true else {
                throw refusal("expected \(member.name.foundText) to be true, found \(member.value.kind)")
            }
            return [option]
        case .list:
            guard let values = member.value.array, !values.isEmpty else {
                throw refusal("expected \(member.name.foundText) to be an array of strings, found \(member.value.kind)")
            }
            return try values.flatMap { [option, try text($0, of: member.name)] }
        case .text, .local: return [option, try text(member.value, of: member.name)]
        case .url: return [option, try SecureURL(text(member.value, of: member.name)).string]
        }
    }

    /// Returns a text that a user sees as it is: nothing of it is hidden or left out.
    private static func text(_ value: JSON, of name: String) throws -> String {
        guard let text = value.exactString else {
            throw refusal("expected \(name.foundText) to be a string, found \(value.kind)")
        }
        guard text.utf8.count <= longest else { throw refusal("\(name.foundText) has more than \(longest) bytes") }
        guard text.withSingleBlanks.utf8.elementsEqual(text.utf8),
            !text.unicodeScalars.contains(where: \.properties.isDefaultIgnorableCodePoint)
        else {
            throw refusal("\(name.foundText) has characters that cannot be seen, or several blanks in a row")
        }
        return text
    }

    private static func refusal(_ message: String) -> AuthError {
        AuthError(.invalidConfiguration, .configuration, message)
    }

    /// Lines that show a command line of a profile to its user: where it signs in first, and nothing is cut.
    static func lines(_ line: SignInLine) -> [String] {
        let options = line.options
        return kinds.flatMap { name, _ in
            options.filter { $0.name == name }.flatMap { option in
                let value = option.value.map { $0.foundText(atMost: longest) } ?? "yes"
                return value.wrapped(after: "  \(name.dropFirst(2).replacing("-", with: " ")): ", then: "    | ")
            }
        }
    }
}

/// The languages of the pages.
enum Language: String, Sendable, CaseIterable {
    case en
    case de

    /// The first of the wanted languages that there is (OpenID Connect Core §3.1.2.1, `ui_locales`), else English.
    init(uiLocales: String?) {
        let wanted = (uiLocales ?? "").split(separator: " ").map { $0.prefix { $0 != "-" }.lowercased() }
        self = wanted.lazy.compactMap(Language.init).first ?? .en
    }
}

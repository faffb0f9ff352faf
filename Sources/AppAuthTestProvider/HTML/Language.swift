/// The languages of the pages.
enum Language: String, Sendable, CaseIterable {
    case en
    case de

    /// Selects the first supported language of the request (OpenID Connect Core §3.1.2.1, `ui_locales`), or else
    /// English.
    init(uiLocales: String?) {
        let wanted = (uiLocales ?? "").split(separator: " ").map { $0.prefix { $0 != "-" }.lowercased() }
        self = wanted.lazy.compactMap(Language.init).first ?? .en
    }
}

internal import FoundationEssentials
internal import JOSE

extension Pages {
    /// A page that notifies the clients of a session in hidden frames that it is over (OpenID Connect Front-Channel
    /// Logout §2), and then continues: automatically if scripts run, or with a link.
    func signedOut(showing frames: [String], then location: String?, _ language: Language) -> Reply {
        let words = Phrases(language)
        let shown = HTML(joining: frames.map { #"<iframe src="\#($0)" hidden></iframe>"# })
        let link: HTML = location.map { #"<p><a href="\#($0)">\#(words.goOn)</a></p>"# } ?? "<p>\(words.mayClose)</p>"
        let script: HTML = location == nil ? "" : "<script>\(HTML(stringLiteral: Self.departure))</script>"
        return page(
            words.signedOut, "\(shown)\(link)\(script)", language: language, script: Self.departureSource,
            frames: frames.map(Self.source))
    }

    /// A page is loaded when its frames are.
    private static let departure =
        "addEventListener('load', () => location.replace(document.querySelector('a').href))"

    private static let departureSource =
        "'sha256-\(Data(Digest.sha256.hash(departure)).base64EncodedString())'"
}

internal import FoundationEssentials
internal import JOSE

extension Pages {
    /// The page that posts an authorization response to the client: automatically if scripts run, or with its button
    /// (OAuth 2.0 Form Post Response Mode §2).
    func formPost(_ parameters: [(name: String, value: String)], to redirectURI: String, _ language: Language) -> Reply
    {
        let words = Phrases(language)
        let fields = HTML(
            joining: parameters.map { #"<input type="hidden" name="\#($0.name)" value="\#($0.value)">"# })
        let content: HTML = """
            <form method="post" action="\(redirectURI)">
            \(fields)
            <button class="main" type="submit">\(words.goOn)</button>
            </form>
            <script>\(HTML(stringLiteral: Self.submission))</script>
            """
        return page(
            words.backToTheApp, content, language: language, target: redirectURI, script: Self.submissionSource)
    }

    private static let submission = "document.forms[0].submit()"

    /// The policy source that allows only this script (Content Security Policy Level 3 §8.4).
    private static let submissionSource =
        "'sha256-\(Data(Digest.sha256.hash(submission)).base64EncodedString())'"
}

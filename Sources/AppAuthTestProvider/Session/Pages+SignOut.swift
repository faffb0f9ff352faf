/// The pages of a sign-out.
extension Pages {
    /// Asks the user. The form contains the request's parameters.
    func signOutQuestion(
        _ parameters: Parameters, _ logout: EndSessionRequest, _ signIn: Browser.SignIn, _ token: FormToken
    ) -> Reply {
        let words = Phrases(logout.language)
        let carried = parameters.entries.filter { $0.name != "csrf" && $0.name != "action" }
        let fields = HTML(
            joining: carried.map { #"<input type="hidden" name="\#($0.name)" value="\#($0.value)">"# })
        let content: HTML = """
            <p class="soft">\(words.signedIn(as: signIn.userName))</p>
            <p>\(words.signOutQuestion)</p>
            <form method="post" action="\(context.issuer.url(.endSession))">
            <input type="hidden" name="csrf" value="\(token.value)">
            \(fields)
            <button class="main" type="submit" name="action" value="sign-out">\(words.signOut)</button>
            <button type="submit" name="action" value="stay">\(words.stay)</button>
            </form>
            """
        return page(words.signOut, content, language: logout.language, target: logout.redirectURI)
    }

    func signedOut(_ language: Language) -> Reply {
        page(Phrases(language).signedOut, "<p>\(Phrases(language).mayClose)</p>", language: language)
    }

    func stillSignedIn(_ language: Language) -> Reply {
        page(Phrases(language).stillSignedIn, "<p>\(Phrases(language).mayClose)</p>", language: language)
    }
}

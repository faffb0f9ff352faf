internal import JOSE

internal import HTTPTypes

/// The pages of a sign-in.
extension Pages {
    /// - Parameter failedName: The name that was just tried with a wrong password.
    func signIn(_ interaction: Interaction, failedName: String? = nil) -> Reply {
        let (request, words) = (interaction.request, Phrases(interaction.request.language))
        let name = failedName ?? request.loginHint
        let choice = context.configuration.addition?.choice(words, for: request, context)
        let failure: HTML = failedName == nil ? "" : #"<p class="box bad" role="alert">\#(words.wrongPassword)</p>"#
        let content: HTML = """
            <p class="soft">\(words.toContinue(to: request.client.name))</p>
            \(failure)
            \(demoAccounts(words))
            <form method="post" action="\(action(interaction))">
            \(token(interaction))
            \(signInFields(words, name: name, isRetry: failedName != nil))
            <button class="main" type="submit" name="action" value="sign-in">\(words.signIn)</button>
            <button type="submit" name="action" value="deny" formnovalidate>\(words.cancel)</button>
            \(choice?.html ?? "")
            </form>
            """
        return page(
            words.signIn, content, language: request.language, target: request.redirectURI,
            sources: backSources + (choice?.sources ?? []), failedName == nil ? .ok : .unprocessableContent)
    }

    func demoAccounts(_ words: Phrases) -> HTML {
        let accounts = HTML(
            joining: context.configuration.users.map { user in
                "<br><code>\(user.name)</code> · <code>\(user.password)</code>"
            })
        return """
            <p class="box">\(words.demoAccounts)
            \(accounts)</p>
            """
    }

    /// The fields for name and password. Those of the demo user, whose password everyone knows, are filled in.
    ///
    /// - Parameters:
    ///   - name: The name that was tried or that the client expects.
    ///   - isRetry: Whether it was tried with a wrong password.
    func signInFields(_ words: Phrases, name: String?, isRetry: Bool) -> HTML {
        let demo = context.configuration.users.first { $0.name == User.alice.name }
        let name = name ?? demo?.name ?? ""
        let password = isRetry || name != demo?.name ? "" : demo?.password ?? ""
        let focusName: HTML = name.isEmpty ? " autofocus" : ""
        let focusPassword: HTML = name.isEmpty ? "" : " autofocus"
        return """
            <p><label for="username">\(words.name)</label>
            <input id="username" name="username" type="text" value="\(name)" autocomplete="username" \
            autocapitalize="none" spellcheck="false" required\(focusName)></p>
            <p><label for="password">\(words.password)</label>
            <input id="password" name="password" type="password" value="\(password)" \
            autocomplete="current-password" required\(focusPassword)></p>
            """
    }

    func chooseAccount(_ interaction: Interaction, _ signIn: Browser.SignIn) -> Reply {
        let (request, words) = (interaction.request, Phrases(interaction.request.language))
        let content: HTML = """
            <p class="soft">\(words.toContinue(to: request.client.name))</p>
            <form method="post" action="\(action(interaction))">
            \(token(interaction))
            <button class="main" type="submit" name="action" value="continue">\(words.continueAs(signIn.userName))</button>
            <button type="submit" name="action" value="switch">\(words.anotherAccount)</button>
            <button class="link" type="submit" name="action" value="deny">\(words.cancel)</button>
            </form>
            """
        return page(
            words.chooseAccount, content, language: request.language, target: request.redirectURI, sources: backSources)
    }

    func consent(_ interaction: Interaction, _ signIn: Browser.SignIn) -> Reply {
        let (request, words) = (interaction.request, Phrases(interaction.request.language))
        let scopes = HTML(joining: request.scopes.map { "<li>\(words.scope($0))</li>" })
        let content: HTML = """
            <p class="soft">\(words.signedIn(as: signIn.userName))</p>
            <p>\(words.wants(request.client.name))</p>
            <ul>
            \(scopes)
            \(authorizationDetails(request.authorizationDetails))
            </ul>
            <form method="post" action="\(action(interaction))">
            \(token(interaction))
            <button class="main" type="submit" name="action" value="allow">\(words.allow)</button>
            <button type="submit" name="action" value="deny">\(words.deny)</button>
            <button class="link" type="submit" name="action" value="switch">\(words.anotherAccount)</button>
            </form>
            """
        return page(
            words.consentTitle(request.client.name), content, language: request.language, target: request.redirectURI,
            sources: backSources)
    }

    /// The details on the consent page, in the client's words: this provider has no better ones for any type.
    private func authorizationDetails(_ details: [JSON]) -> HTML {
        HTML(
            joining: details.map { detail in
                let members = (detail.object?.members ?? []).filter { $0.name != "type" }
                let lines = HTML(
                    joining: members.map { "<br>\($0.name): <code>\($0.value.string ?? $0.value.serialized())</code>" })
                return "<li>\(detail["type"]?.string ?? "")\(lines)</li>"
            })
    }

    var signInIsOver: Reply {
        error("This sign-in is over. Please go back to the app and start again.", .notFound)
    }

    var otherBrowser: Reply {
        error("This sign-in began in another browser, or cookies are turned off.", .forbidden)
    }

    /// The issuer, to which the forms lead on the way to the client, if the pages have an origin of their own.
    private var backSources: [String] {
        context.hasOwnOrigin(.interaction) ? [Self.source(of: context.issuer.origin)] : []
    }

    private func action(_ interaction: Interaction) -> String { context.page(of: interaction) }

    private func token(_ interaction: Interaction) -> HTML {
        let token = FormToken(
            context: context, browserID: interaction.visitorID ?? interaction.browserID, purpose: interaction.id)
        return #"<input type="hidden" name="csrf" value="\#(token.value)">"#
    }
}

internal import HTTPTypes

/// The common properties of the pages of one visit.
struct DevicePage {
    let token: FormToken
    let language: Language
    var words: Phrases { Phrases(language) }
}

/// The pages on which a user connects a device. Each form contains the code.
extension Pages {
    func enterCode(_ page: DevicePage, typed: String, isWrong: Bool = false) -> Reply {
        let words = page.words
        let failure: HTML = isWrong ? #"<p class="box bad" role="alert">\#(words.wrongCode)</p>"# : ""
        let form = form(
            page,
            """
            <p><label for="user_code">\(words.code)</label>
            <input id="user_code" name="user_code" type="text" value="\(typed)" autocomplete="off" \
            autocapitalize="characters" spellcheck="false" required autofocus></p>
            <button class="main" type="submit" name="action" value="continue">\(words.next)</button>
            """)
        return self.page(
            words.connectDevice, "<p>\(words.enterCode)</p>\n\(failure)\n\(form)", language: page.language,
            isWrong ? .unprocessableContent : .ok)
    }

    /// The response to too many wrong codes (RFC 8628 §5.1).
    func tooManyCodes(_ page: DevicePage, pause: Int) -> Reply {
        let words = page.words
        var reply = self.page(
            words.connectDevice, #"<p class="box bad" role="alert">\#(words.tooManyCodes)</p>"#,
            language: page.language, .tooManyRequests)
        reply.headers[.retryAfter] = String(pause)
        return reply
    }

    /// - Parameter failedName: The name that was just tried with a wrong password.
    func deviceSignIn(_ page: DevicePage, _ device: DeviceRequest, failedName: String? = nil) -> Reply {
        let words = page.words
        let failure: HTML = failedName == nil ? "" : #"<p class="box bad" role="alert">\#(words.wrongPassword)</p>"#
        let form = form(
            page,
            """
            \(code(device))
            \(signInFields(words, name: failedName, isRetry: failedName != nil))
            <button class="main" type="submit" name="action" value="sign-in">\(words.signIn)</button>
            <button type="submit" name="action" value="deny" formnovalidate>\(words.cancel)</button>
            """)
        return self.page(
            words.signIn,
            """
            <p class="soft">\(words.toConnect(device.client.name))</p>
            \(failure)
            \(demoAccounts(words))
            \(form)
            """, language: page.language, failedName == nil ? .ok : .unprocessableContent)
    }

    /// The consent page. It names the client and says that the device is elsewhere, since the code may come from an
    /// attacker (RFC 8628 §5.4).
    func deviceConsent(_ page: DevicePage, _ device: DeviceRequest, _ signIn: Browser.SignIn) -> Reply {
        let words = page.words
        let scopes = HTML(joining: device.scopes.map { "<li>\(words.scope($0))</li>" })
        let form = form(
            page,
            """
            \(code(device))
            <button class="main" type="submit" name="action" value="allow">\(words.allow)</button>
            <button type="submit" name="action" value="deny">\(words.deny)</button>
            """)
        return self.page(
            words.consentTitle(device.client.name),
            """
            <p class="soft">\(words.signedIn(as: signIn.userName))</p>
            <p>\(words.onAnotherDevice(device.client.name))</p>
            <ul>
            \(scopes)
            </ul>
            <p class="box">\(words.compareCode)<br><code>\(device.userCode.shown)</code></p>
            \(form)
            """, language: page.language)
    }

    func deviceDone(_ page: DevicePage, _ device: DeviceRequest, isAllowed: Bool) -> Reply {
        let (words, name) = (page.words, device.client.name)
        return self.page(
            isAllowed ? words.deviceConnected : words.deviceRefused,
            "<p>\(isAllowed ? words.goBack(to: name) : words.nothingShared(with: name))</p>", language: page.language)
    }

    private func form(_ page: DevicePage, _ content: HTML) -> HTML {
        """
        <form method="post" action="\(context.issuer.url(.deviceVerification))">
        <input type="hidden" name="csrf" value="\(page.token.value)">
        \(content)
        </form>
        """
    }

    private func code(_ device: DeviceRequest) -> HTML {
        #"<input type="hidden" name="user_code" value="\#(device.userCode.shown)">"#
    }
}

internal import AppAuthConcurrency
internal import FoundationEssentials
internal import HTTPTypes
internal import JOSE

/// The page where a user enters a device's code, signs in and decides (RFC 8628 §3.3).
struct DeviceVerificationEndpoint {
    let context: Context
    private var pages: Pages { Pages(context: context) }

    func respond(to request: Request) throws -> Reply {
        let (now, cookie) = (context.now, context.cookie(of: .issuer))
        let known = cookie.id(in: request).flatMap { id in context.store.withLock { $0.browser(id, now) } }
        let language = Language(acceptLanguage: request.headers[.acceptLanguage])
        switch request.method {
        case .get:
            let browser = try known ?? newBrowser()
            // §3.3.1: a code from the URL is shown, so that the user compares it before continuing.
            var reply = pages.enterCode(page(browser, language), typed: request.query["user_code"] ?? "")
            if known == nil { reply.headers[.setCookie] = cookie.set(browser.id) }
            return reply
        case .post:
            guard let browser = known, let form = request.form, form.repeated == nil,
                token(browser).matches(form)
            else { return pages.error("This form is not from this page, or it is too old.", .forbidden) }
            return try act(form, browser, language)
        default: return .notAllowed("GET, POST")
        }
    }

    private func act(_ form: Parameters, _ browser: Browser, _ language: Language) throws -> Reply {
        let (now, typed, page) = (context.now, form["user_code"] ?? "", page(browser, language))
        if let pause = context.store.withLock({ $0.userCodeAttempts.pause(now) }) {
            return pages.tooManyCodes(page, pause: pause)
        }
        let userCode = UserCode(typed: typed)
        guard let userCode, let device = context.store.withLock({ $0.waitingDevice(userCode, now)?.request }) else {
            context.store.withLock { $0.userCodeAttempts.fail(now) }
            return pages.enterCode(page, typed: typed, isWrong: true)
        }
        switch (form["action"], browser.signIn) {
        case ("deny", _):
            return decide(device, .denied, page)
        case ("allow", let signIn?):
            let grant = Grant(
                id: try OpaqueToken.make(), clientID: device.client.id, subject: signIn.subject, scopes: device.scopes,
                authTime: signIn.time, acr: signIn.acr, nonce: nil, claims: .none, resources: device.resources,
                sessionID: signIn.sessionID)
            return decide(device, .approved(grant), page)
        case (_, let signIn?):
            return pages.deviceConsent(page, device, signIn)
        case ("sign-in", nil):
            let (name, password) = (form["username"] ?? "", form["password"] ?? "")
            guard let user = context.user(name: name, password: password) else {
                return pages.deviceSignIn(page, device, failedName: name)
            }
            let renewed = try context.renew(browser, context.newSignIn(of: user, in: browser))
            guard let signIn = renewed.signIn else { return pages.deviceSignIn(page, device) }
            var reply = pages.deviceConsent(self.page(renewed, language), device, signIn)
            reply.headers[.setCookie] = context.cookie(of: .issuer).set(renewed.id)
            return reply
        case (_, nil):
            return pages.deviceSignIn(page, device)
        }
    }

    /// Records the decision, only once: a form that is sent twice finds no code any more.
    private func decide(_ device: DeviceRequest, _ status: DeviceRequest.Status, _ page: DevicePage) -> Reply {
        let now = context.now
        guard context.store.withLock({ $0.decide(device.userCode, status, now) }) else {
            return pages.enterCode(page, typed: "", isWrong: true)
        }
        if case .approved = status { return pages.deviceDone(page, device, isAllowed: true) }
        return pages.deviceDone(page, device, isAllowed: false)
    }

    private func newBrowser() throws -> Browser {
        let now = context.now
        let browser = Browser(
            id: try OpaqueToken.make(), expiresAt: now.adding(context.configuration.sessionLifetime))
        context.store.withLock { records in
            records.prune(now)
            records.browsers[browser.id] = browser
        }
        return browser
    }

    private func token(_ browser: Browser) -> FormToken {
        FormToken(context: context, browserID: browser.id, purpose: "device")
    }

    private func page(_ browser: Browser, _ language: Language) -> DevicePage {
        DevicePage(token: token(browser), language: language)
    }
}

extension Language {
    /// The first supported language of the browser's list, or else English.
    fileprivate init(acceptLanguage: String?) {
        let ranges = (acceptLanguage ?? "").split(separator: ",").map { $0.prefix { $0 != ";" }.trimmingSpaces }
        self.init(uiLocales: ranges.joined(separator: " "))
    }
}

internal import FoundationEssentials

extension Interaction {
    /// The next step of an interaction.
    enum Step {
        case signIn
        case chooseAccount(Browser.SignIn)
        case consent(Browser.SignIn)
        case finish(Browser.SignIn)
        case fail(error: String, description: String?)
    }

    /// - Parameter consented: The scopes that the user has granted to this client before.
    func step(_ signIn: Browser.SignIn?, consented: Set<String>, _ context: Context) -> Step {
        let next = interactiveStep(signIn, consented: consented, context)
        guard request.prompts.contains("none") else { return next }
        // Core §3.1.2.6: no page may be shown, so each page has an error instead.
        return switch next {
        case .signIn: .fail(error: "login_required", description: "no suitable user is signed in")
        case .chooseAccount: .fail(error: "account_selection_required", description: "an account has to be chosen")
        case .consent: .fail(error: "consent_required", description: "the user has not consented yet")
        case .finish, .fail: next
        }
    }

    private func interactiveStep(_ signIn: Browser.SignIn?, consented: Set<String>, _ context: Context) -> Step {
        guard let signIn else { return .signIn }
        if !hasSignedIn {
            if request.prompts.contains("login") || isTooOld(signIn, context.now) || isTooWeak(signIn) {
                return .signIn
            }
            if let subject = request.hintedSubject, subject != signIn.subject { return .signIn }
            if request.prompts.contains("select_account"), !hasChosenAccount { return .chooseAccount(signIn) }
        } else if let subject = request.hintedSubject, subject != signIn.subject {
            // Core §3.1.2.1, id_token_hint: any other user is an error.
            return .fail(error: "login_required", description: "the signed-in user is not the hinted one")
        }
        let asks = request.prompts.contains("consent")
        // The page asks about authorization details each time: consent to one payment is not consent to the next.
        let hasNews = !consented.isSuperset(of: request.scopes) || !request.authorizationDetails.isEmpty
        let isNew = context.configuration.requiresConsent && hasNews
        return (asks || isNew) && !hasConsented ? .consent(signIn) : .finish(signIn)
    }

    /// Returns whether the sign-in is older than `max_age` allows (Core §3.1.2.1). The value 0 means the same as
    /// `prompt=login`.
    private func isTooOld(_ signIn: Browser.SignIn, _ now: Date) -> Bool {
        request.maxAge.map { $0 == 0 || now.timeIntervalSince(signIn.time) > Double($0) } ?? false
    }

    /// Returns whether the user must sign in again with another authentication context (RFC 9470 §5).
    func isTooWeak(_ signIn: Browser.SignIn) -> Bool {
        !request.acrs.isEmpty && !request.acrs.contains(signIn.acr)
    }
}

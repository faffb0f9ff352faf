internal import AppAuth
internal import FoundationEssentials

/// What a sign-out tells the user.
extension Logout {
    func sayWhatIsNotConfirmed(_ signedOut: SignedOut, _ console: Console) {
        // With --no-browser, the line above the URL says it.
        guard let error = signedOut.report.endSessionError, !noBrowser || error.code != .browser else { return }
        console.note("\(signedOut.prefix)the provider did not confirm the sign-out: \(error.message)")
    }

    static func sayWhatStaysValid(
        _ record: AuthStateRecord, _ revocations: [TokenRevocation], _ prefix: String, _ console: Console
    ) {
        let unknown = "it expires at the provider"
        func say(_ kind: String, validUntil end: String?) {
            let ofKind = revocations.filter { $0.tokenTypeHint == kind }
            let error = ofKind.lazy.compactMap(\.error).first
            guard error != nil || ofKind.isEmpty && end != nil else { return }
            let reason = error.map { ": \($0.message)" } ?? ""
            let name = kind.replacing("_", with: " ")
            console.note("\(prefix)the \(name) stays valid until \(end ?? unknown), since it was not revoked\(reason)")
        }
        say("refresh_token", validUntil: record.hasRefreshToken ? unknown : nil)
        let token = record.accessToken.flatMap { $0.isExpired(at: .current) ? nil : $0 }
        say("access_token", validUntil: token.map { $0.expiresAt?.ISO8601Format() ?? unknown })
    }

    static func sayWhatToCompare(_ uri: String, _ record: AuthStateRecord, _ console: Console) {
        console.say("You are signed out here. The provider has not sent the browser back yet; Ctrl-C ends the wait.")
        console.say(
            "If the browser shows an error, this post-logout redirect URI may not be registered for the client "
                + "\(record.client.id.shownName):")
        console.say("  \(uri)")
    }

    /// Without --redirect-port, each sign-in has another port, so nobody can register it.
    static func sayHowToFixThePort(of uri: String, _ signIn: SignInLine, _ console: Console) {
        guard let port = (try? SecureURL(uri))?.port, RedirectOptions.isChosenByKernel(port) else { return }
        console.say("The port is another one after each sign-in. To register one that stays, sign in with it:")
        console.say("  \(SignInLine(signIn.words + ["--redirect-port", "8400"]).shellLine)")
        console.say("Or sign out with --post-logout-redirect-uri none: the browser then stays at the provider.")
    }
}

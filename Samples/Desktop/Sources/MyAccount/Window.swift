import AppAuth
import CAdwaita

/// The window: it shows an account's status, and turns buttons and keys into what the account does.
@MainActor final class Window {
    private let account: Account
    private let widgets = Widgets(PackageResources.window_ui)
    private var actions: [String: OpaquePointer] = [:]
    private var isWaiting = false
    /// The timer that shows the hint while the window waits for a browser, or 0.
    private var hintTimer: CUnsignedInt = 0
    /// The URL of the picture that is shown or is being fetched.
    private var shownPicture: String?

    init(_ account: Account, of application: OpaquePointer) {
        self.account = account
        let window = widgets["window"]
        gtk_window_set_application(cast(window), cast(application))
        add("sign-in", to: window) { account.beginSignIn() }
        add("cancel", to: window) { account.cancel() }
        add("open-again", to: window) { account.openAgain() }
        add("copy-address", to: window) { [self] in copyAddress() }
        add("call-api", to: window) { [self] in callAPI() }
        add("sign-out", to: window) { account.beginSignOut() }
        // Another process may have signed out while the user was elsewhere.
        connect(window, "notify::is-active") {
            if gtk_window_is_active(cast(window)) != 0 { account.refresh() }
        }
        connect(widgets["details-row"], "notify::expanded") { [self] in showDetails() }
        account.changed = { [self] in show() }
        show()
    }

    func present() { gtk_window_present(cast(widgets["window"])) }

    private func add(_ name: String, to window: UnsafeMutablePointer<GObject>, _ run: @escaping @MainActor () -> Void) {
        guard let action = g_simple_action_new(name, nil) else { return }
        connect(UnsafeMutableRawPointer(action), "activate", to: run)
        g_action_map_add_action(OpaquePointer(window), action)
        actions[name] = action
    }

    private func show() {
        switch account.status {
        case .starting: show(page: "starting")
        case .signedOut(let problem):
            show(page: "signed-out")
            let next =
                account.isKeyringLocked
                ? "Your keyring may ask for its password first." : "Your browser opens for the sign-in."
            widgets.set(
                "signed-out-page", "description", problem.map { escaped(explanation($0)) } ?? translated(next))
        case .signingIn(let step) where step.hasBrowser:
            show(
                page: "waiting", "Continue in Your Browser", "Sign in there. Then you will be brought back here.",
                hint: "Nothing happened? Open the page again, or copy its address into another browser.")
        case .signingIn:
            show(
                page: "address", "No Browser Has Opened",
                "Copy the address, and open it in a browser on this computer.")
        case .signingOut(let step) where step.hasBrowser:
            show(
                page: "waiting", "You Are Signed Out Here", "Finish the sign-out in your browser.",
                hint: "Nothing happened? You can cancel: you are signed out here.")
        case .signingOut:
            show(
                page: "address", "You Are Signed Out Here",
                "To sign out in your browser too, open this address there.")
        case .signedIn(let claims):
            show(page: "signed-in")
            show(claims)
        case .ended: show(page: "ended")
        }
        showTools()
        widgets.set("notice-text", "label", account.trouble.map(explanation) ?? "")
        widgets.set("notice", "visible", account.trouble != nil)
        showDetails()
    }

    /// Shows a page for a user who has something to do in a browser.
    private func show(page: String, _ title: String, _ description: String, hint: String = "") {
        show(page: page)
        widgets.set("\(page)-page", "title", translated(title))
        widgets.set("\(page)-page", "description", translated(description))
        widgets.set("hint", "label", translated(hint))
    }

    /// Shows what the user can do on such a page.
    private func showTools() {
        let step = account.browserStep
        enable("cancel", step != nil)
        for name in ["open-again", "copy-address"] { enable(name, step?.url != nil) }
        widgets.set("address", "label", step?.url ?? "")
        var isSignIn = false
        if case .signingIn = account.status { isSignIn = true }
        widgets.set("again", "visible", isSignIn)

        guard isWaiting != (step?.hasBrowser == true) else { return }
        isWaiting.toggle()
        widgets.set("hint", "visible", false)
        if hintTimer != 0 { g_source_remove(hintTimer) }
        hintTimer = 0
        guard isWaiting else { return }
        hintTimer = after(seconds: 30) { [self] in
            hintTimer = 0
            widgets.set("hint", "visible", true)
        }
    }

    private static let pages = ["starting", "signed-out", "waiting", "address", "signed-in", "ended"]

    private func show(page: String) {
        for other in Self.pages { widgets.set("\(other)-page", "visible", other == page) }
        widgets.set("starting-page", "spinning", page == "starting")
    }

    private func enable(_ name: String, _ isEnabled: Bool) {
        if let action = actions[name] { g_simple_action_set_enabled(action, isEnabled ? 1 : 0) }
    }

    private func show(_ claims: Claims?) {
        let name = claims?.name ?? claims?.preferredUsername ?? claims?.subject ?? ""
        widgets.set("name", "label", name)
        widgets.set("picture", "text", name)
        widgets.set("email", "subtitle", claims?.email ?? translated("Unknown"))
        show(picture: claims?.picture)
    }

    /// Until the picture is there, and if it cannot be shown, the window shows the initials.
    private func show(picture url: String?) {
        guard shownPicture != url else { return }
        shownPicture = url
        adw_avatar_set_custom_image(OpaquePointer(widgets["picture"]), nil)
        guard let url else { return }
        Task {
            let file: [UInt8]?
            do { file = try await picture(at: url, of: account.issuer, by: Environment.live.transport) } catch {
                // For example, the computer is offline. The next change tries again.
                if shownPicture == url, (error as? AuthError)?.isTemporary == true { shownPicture = nil }
                return
            }
            guard shownPicture == url, let texture = file.flatMap(texture) else { return }
            adw_avatar_set_custom_image(OpaquePointer(widgets["picture"]), texture)
            g_object_unref(UnsafeMutableRawPointer(texture))
        }
    }

    /// Shows what most users need not know, such as paths and the library's messages.
    private func showDetails() {
        var (place, refusal, problem): (String?, String?, String?)
        switch account.status {
        case .signedIn:
            place = account.storage.map { ($0.store as? FileTokenStore)?.path ?? translated("Keyring") }
            refusal = account.storage?.refusal?.message
            problem = account.trouble?.message
        case .signingIn(let step), .signingOut(let step): problem = step.problem
        case .signedOut(let error): problem = error?.message
        case .starting, .ended: break
        }
        // Not only hidden by the closed row: screen readers would read these rows too.
        let isOpen = adw_expander_row_get_expanded(cast(widgets["details-row"])) != 0
        for (row, text) in [("storage", place), ("refusal", refusal), ("problem", problem)] {
            widgets.set(row, "subtitle", text ?? "")
            widgets.set(row, "visible", isOpen && text != nil)
        }
        widgets.set("details", "visible", [place, refusal, problem].contains { $0 != nil })
    }

    private func copyAddress() {
        guard let address = account.browserStep?.url else { return }
        gdk_clipboard_set_text(gtk_widget_get_clipboard(cast(widgets["window"])), address)
    }

    private func callAPI() {
        enable("call-api", false)
        Task {
            defer { enable("call-api", true) }
            do { widgets.set("response", "subtitle", try await account.callAPI()) } catch {
                widgets.set("response", "subtitle", explanation(error))
            }
        }
    }
}

/// What the user can do about an error, in the user's language where the app knows the error.
func explanation(_ error: any Error) -> String {
    guard let error = error as? AuthError else { return "\(error)" }
    if error.stage == .logout { return translated("You are signed out here. Your browser may still be signed in.") }
    return switch error.code {
    case .transport: translated("The server cannot be reached. Check your network connection.")
    case .timeout: translated("That took too long. Try again.")
    case .accessDenied: translated("The sign-in was refused.")
    case .store: translated("Your session cannot be read or stored on this computer.")
    default: error.message
    }
}

/// Returns a pointer as the C type that a function of GTK expects.
func cast<From, To>(_ pointer: UnsafeMutablePointer<From>) -> UnsafeMutablePointer<To> {
    UnsafeMutableRawPointer(pointer).assumingMemoryBound(to: To.self)
}

func cast<To>(_ pointer: OpaquePointer) -> UnsafeMutablePointer<To> { UnsafeMutablePointer(pointer) }

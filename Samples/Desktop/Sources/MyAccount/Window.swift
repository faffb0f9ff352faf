import AppAuth
import CAdwaita

/// The window: it shows an account's status, and turns buttons and keys into what the account does.
@MainActor final class Window {
    private let account: Account
    private let widgets = Widgets(PackageResources.window_ui)
    private var actions: [String: OpaquePointer] = [:]
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
        let isWaiting: Bool
        switch account.status {
        case .starting:
            isWaiting = false
            show(page: "starting")
        case .signedOut(let problem):
            isWaiting = false
            show(page: "signed-out")
            widgets.set(
                "signed-out-page", "description",
                problem.map { escaped(explanation($0)) } ?? translated("Your browser opens for the sign-in."))
        case .signingIn:
            isWaiting = true
            show(page: "waiting")
            widgets.set("waiting-page", "title", translated("Continue in Your Browser"))
            widgets.set("waiting-page", "description", translated("Sign in there. Then you will be brought back here."))
        case .signingOut:
            isWaiting = true
            show(page: "waiting")
            widgets.set("waiting-page", "title", translated("You Are Signed Out Here"))
            widgets.set("waiting-page", "description", translated("Finish the sign-out in your browser."))
        case .signedIn(let claims):
            isWaiting = false
            show(page: "signed-in")
            show(claims)
        case .ended:
            isWaiting = false
            show(page: "ended")
        }
        widgets.set("waiting-spinner", "spinning", isWaiting)
        for name in ["open-again", "copy-address"] { enable(name, account.address != nil) }
        widgets.set("notice-text", "label", account.trouble.map(explanation) ?? "")
        widgets.set("notice", "visible", account.trouble != nil)
        showStorage()
    }

    private static let pages = ["starting", "signed-out", "waiting", "signed-in", "ended"]

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

    private func showStorage() {
        switch account.storage {
        case .keyring: widgets.set("storage", "subtitle", translated("Keyring"))
        case .file(let path, let reason):
            let why = reason == nil ? "" : "\n" + translated("The keyring cannot be used.")
            widgets.set("storage", "subtitle", path + why)
        }
    }

    private func copyAddress() {
        guard let address = account.address else { return }
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
    return switch error.code {
    case .transport: translated("The server cannot be reached. Check your network connection.")
    case .timeout: translated("That took too long. Try again.")
    case .accessDenied: translated("The sign-in was refused.")
    default: error.message
    }
}

/// Returns a pointer as the C type that a function of GTK expects.
func cast<From, To>(_ pointer: UnsafeMutablePointer<From>) -> UnsafeMutablePointer<To> {
    UnsafeMutableRawPointer(pointer).assumingMemoryBound(to: To.self)
}

func cast<To>(_ pointer: OpaquePointer) -> UnsafeMutablePointer<To> { UnsafeMutablePointer(pointer) }

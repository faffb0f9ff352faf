import CAdwaita
import Glibc

/// The application: one window, and an end that loses no tokens.
@MainActor final class Application: Sendable {
    private let application: OpaquePointer
    private let account: Account
    /// The folder of the app's icon, which is not in the desktop's search path if the app is not installed there.
    private let icons: String
    private var window: Window?

    init(_ account: Account, id: String, icons: String) {
        (self.account, self.icons) = (account, icons)
        application = OpaquePointer(adw_application_new(id, GApplicationFlags(rawValue: 0)))
    }

    func run() -> CInt {
        connect(UnsafeMutableRawPointer(application), "activate") { [self] in activate() }
        add("quit", key: "<primary>q") { [self] in quit() }
        add("about", key: nil) { [self] in showAbout() }
        quitOnTermination()
        return g_application_run(cast(application), 0, nil)
    }

    /// Also called in the running app when the user starts a second one.
    private func activate() {
        if window == nil {
            gtk_icon_theme_add_search_path(gtk_icon_theme_get_for_display(gdk_display_get_default()), icons)
            window = Window(account, of: application)
            connect(UnsafeMutableRawPointer(application), "window-removed") { [self] in holdUntilSaved() }
            account.restore()
        }
        window?.present()
    }

    private func add(_ name: String, key: String?, _ run: @escaping @MainActor () -> Void) {
        guard let action = g_simple_action_new(name, nil) else { return }
        connect(UnsafeMutableRawPointer(action), "activate", to: run)
        g_action_map_add_action(application, action)
        guard let key else { return }
        key.withCString { key in
            var keys: [UnsafePointer<CChar>?] = [key, nil]
            gtk_application_set_accels_for_action(cast(application), "app.\(name)", &keys)
        }
    }

    private func quit() {
        g_application_hold(cast(application))
        Task {
            await account.close()
            g_application_quit(cast(application))
        }
    }

    /// The desktop ends its apps with this signal when the user logs out.
    private func quitOnTermination() {
        let quit: GSourceFunc = { data in
            guard let data else { return 0 }
            let application = Unmanaged<Application>.fromOpaque(data).takeUnretainedValue()
            MainActor.assumeIsolated { application.quit() }
            return 1  // G_SOURCE_CONTINUE
        }
        g_unix_signal_add(SIGTERM, quit, Unmanaged.passUnretained(self).toOpaque())
    }

    /// The process ends after the last window is closed. A refresh that has been sent must be stored before.
    private func holdUntilSaved() {
        // The user may start the app again meanwhile.
        window = nil
        g_application_hold(cast(application))
        Task {
            await account.close()
            g_application_release(cast(application))
        }
    }

    private func showAbout() {
        guard let about = adw_about_window_new() else { return }
        adw_about_window_set_application_name(OpaquePointer(about), translated("My Account"))
        adw_about_window_set_application_icon(OpaquePointer(about), "org.example.MyAccount")
        adw_about_window_set_comments(OpaquePointer(about), translated("A sample of swift-appauth"))
        gtk_window_set_transient_for(cast(about), gtk_application_get_active_window(cast(application)))
        gtk_window_present(cast(about))
    }
}

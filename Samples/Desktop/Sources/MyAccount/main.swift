import AppAuth
import CAdwaita
import Dispatch
import Glibc

// usage: my-account [ISSUER CLIENT-ID API-URL]
let appID = "org.example.MyAccount"
var configuration = Account.Configuration(
    appID: appID, issuer: "http://127.0.0.1:8080", clientID: "my-app", api: "http://127.0.0.1:8080/api/echo")
if CommandLine.argc == 4 {
    (configuration.issuer, configuration.clientID) = (CommandLine.arguments[1], CommandLine.arguments[2])
    configuration.api = CommandLine.arguments[3]
}

// The program is PREFIX/bin/my-account, and PREFIX/share has the translations and the icon.
let bin = g_path_get_dirname(g_file_read_link("/proc/self/exe", nil))
let share = String(cString: g_canonicalize_filename("../share", bin))
setlocale(LC_ALL, "")
bindtextdomain("my-account", share + "/locale")
bind_textdomain_codeset("my-account", "UTF-8")
textdomain("my-account")

// Desktops find the entry and the icon of a window by this name.
g_set_prgname(appID)
main_actor_loop_attach()
do {
    let application = Application(try Account(configuration), id: appID, icons: share + "/icons")
    exit(application.run())
} catch {
    let line = "my-account: \((error as? AuthError)?.message ?? "\(error)")\n"
    write(STDERR_FILENO, line, line.utf8.count)
    exit(1)
}

import AppAuth
import CAdwaita
import Dispatch
import Foundation

// usage: my-account [ISSUER CLIENT-ID API-URL]
let appID = "org.example.MyAccount"
var configuration = Account.Configuration(
    appID: appID, issuer: "http://127.0.0.1:8080", clientID: "my-app", api: "http://127.0.0.1:8080/api/echo")
if CommandLine.argc == 4 {
    (configuration.issuer, configuration.clientID) = (CommandLine.arguments[1], CommandLine.arguments[2])
    configuration.api = CommandLine.arguments[3]
}

// The program is PREFIX/bin/my-account, and the translations are in PREFIX/share/locale.
let program = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
let locales = program.deletingLastPathComponent().deletingLastPathComponent().appending(path: "share/locale")
setlocale(LC_ALL, "")
bindtextdomain("my-account", locales.path)
bind_textdomain_codeset("my-account", "UTF-8")
textdomain("my-account")

main_actor_loop_attach()
do {
    let application = Application(try Account(configuration), id: appID)
    exit(application.run())
} catch {
    FileHandle.standardError.write(Data("my-account: \((error as? AuthError)?.message ?? "\(error)")\n".utf8))
    exit(1)
}

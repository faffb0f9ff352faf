/// The texts of the pages, in the user's language.
struct Phrases {
    private let language: Language

    init(_ language: Language) { self.language = language }

    private func say(_ english: String, _ german: String) -> String {
        switch language {
        case .en: english
        case .de: german
        }
    }

    var footer: String {
        say(
            "Local provider: for trying things out on this computer.",
            "Local provider: zum Ausprobieren auf diesem Rechner.")
    }
    var signIn: String { say("Sign in", "Anmelden") }
    var cancel: String { say("Cancel", "Abbrechen") }
    var name: String { say("Name", "Name") }
    var password: String { say("Password", "Passwort") }
    var wrongPassword: String {
        say("This name and password do not belong together.", "Name und Passwort gehören nicht zusammen.")
    }
    var demoAccounts: String { say("Demo name and password:", "Name und Passwort zum Ausprobieren:") }
    var chooseAccount: String { say("Choose an account", "Konto wählen") }
    var anotherAccount: String { say("Use another account", "Anderes Konto verwenden") }
    var allow: String { say("Allow", "Erlauben") }
    var deny: String { say("Deny", "Ablehnen") }
    var signOut: String { say("Sign out", "Abmelden") }
    var stay: String { say("Stay signed in", "Angemeldet bleiben") }
    var signOutQuestion: String { say("Do you want to sign out?", "Möchten Sie sich abmelden?") }
    var signedOut: String { say("You are signed out", "Sie sind abgemeldet") }
    var stillSignedIn: String { say("You are still signed in", "Sie bleiben angemeldet") }
    var backToTheApp: String { say("Back to the app", "Zurück zur App") }
    var goOn: String { say("Continue", "Weiter") }
    var mayClose: String { say("You may close this page.", "Sie können diese Seite schließen.") }

    func toContinue(to client: String) -> String { say("to continue to \(client)", "um mit \(client) fortzufahren") }
    func goOn(with service: String) -> String { say("Continue with \(service)", "Weiter mit \(service)") }
    func continueAs(_ name: String) -> String { say("Continue as \(name)", "Weiter als \(name)") }
    func signedIn(as name: String) -> String { say("Signed in as \(name)", "Angemeldet als \(name)") }
    func consentTitle(_ client: String) -> String { say("Allow \(client)?", "\(client) erlauben?") }
    func wants(_ client: String) -> String { say("\(client) would like to", "\(client) möchte") }

    // The pages of a device.
    var connectDevice: String { say("Connect a device", "Gerät verbinden") }
    var code: String { say("Code", "Code") }
    var next: String { say("Continue", "Weiter") }
    var enterCode: String {
        say("Enter the code that your device shows.", "Geben Sie den Code ein, den Ihr Gerät anzeigt.")
    }
    var wrongCode: String {
        say(
            "No device waits with this code. It may have expired.",
            "Auf diesen Code wartet kein Gerät. Vielleicht ist er abgelaufen.")
    }
    var tooManyCodes: String {
        say("Too many wrong codes. Please wait a minute.", "Zu viele falsche Codes. Bitte warten Sie eine Minute.")
    }
    var compareCode: String {
        say(
            "Allow this only if your own device shows this code:",
            "Erlauben Sie das nur, wenn Ihr eigenes Gerät diesen Code anzeigt:")
    }
    var deviceConnected: String { say("The device is connected", "Das Gerät ist verbunden") }
    var deviceRefused: String { say("The device was refused", "Das Gerät wurde abgelehnt") }

    func toConnect(_ client: String) -> String {
        say("to connect \(client) on another device", "um \(client) auf einem anderen Gerät zu verbinden")
    }
    func onAnotherDevice(_ client: String) -> String {
        say("\(client) on another device would like to", "\(client) auf einem anderen Gerät möchte")
    }
    func goBack(to client: String) -> String {
        say(
            "You may close this page and go back to \(client).",
            "Sie können diese Seite schließen und zu \(client) zurückkehren.")
    }
    func nothingShared(with client: String) -> String {
        say("Nothing was shared with \(client).", "Mit \(client) wurde nichts geteilt.")
    }

    func scope(_ scope: String) -> String {
        switch scope {
        case "openid": say("know who you are", "wissen, wer Sie sind")
        case "profile": say("see your name and profile", "Ihren Namen und Ihr Profil sehen")
        case "email": say("see your email address", "Ihre E-Mail-Adresse sehen")
        case "phone": say("see your phone number", "Ihre Telefonnummer sehen")
        case "address": say("see your postal address", "Ihre Anschrift sehen")
        case "offline_access": say("stay signed in when you are away", "angemeldet bleiben, wenn Sie nicht da sind")
        case "api": say("use the echo service for you", "den Echo-Dienst für Sie verwenden")
        default: scope
        }
    }
}

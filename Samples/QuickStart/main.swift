import AppAuth
import Glibc

let arguments = CommandLine.arguments.dropFirst()
guard arguments.count == 3 else { fail("usage: \(CommandLine.arguments[0]) ISSUER CLIENT-ID API-URL") }
signal(SIGPIPE, SIG_IGN)  // a pipe may be closed, as by head

do {
    let signIn = try SignIn(issuer: Issuer(arguments[1]), clientID: arguments[2], appName: "My App")
    let state = try await signIn.restoreOrSignIn(store: FileTokenStore(appID: "org.example.QuickStart"))
    print("Hello,", await state.claims?.name ?? "stranger")

    let response = try await state.get(arguments[3])
    print("The API responds:", String(decoding: response.body, as: UTF8.self))
} catch let error as AuthError where error.needsSignIn {
    fail("You have been signed out. Start the program again to sign in.")
} catch {
    fail((error as? AuthError)?.message ?? "\(error)")
}

func fail(_ message: String) -> Never {
    write(STDERR_FILENO, message + "\n", message.utf8.count + 1)
    exit(1)
}

import AppAuth
import Glibc

do {
    let store = try FileTokenStore(appID: "org.example.Greeter")
    let signIn = SignIn(issuer: "http://127.0.0.1:8080", clientID: "my-app", appName: "Greeter")
} catch {
    fail("That did not work: \((error as? AuthError)?.message ?? "\(error)")")
}

/// Prints a message on standard error, and ends the program.
func fail(_ message: String) -> Never {
    write(STDERR_FILENO, message + "\n", message.utf8.count + 1)
    exit(1)
}

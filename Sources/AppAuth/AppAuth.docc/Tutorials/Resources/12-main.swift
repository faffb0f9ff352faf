import Glibc
import SevenPass

do {
    let configuration = SevenPassConfiguration(
        issuer: "http://127.0.0.1:8081", clientID: "seven-pass-app", apiBase: "http://127.0.0.2:8081/api/accounts/")
    let store = try FileTokenStore(appID: "org.example.Greeter7Pass")
    let signIn = SignIn(configuration, appName: "Greeter")
} catch {
    fail("That did not work: \((error as? AuthError)?.message ?? "\(error)")")
}

/// Prints a message on standard error, and ends the program.
func fail(_ message: String) -> Never {
    write(STDERR_FILENO, message + "\n", message.utf8.count + 1)
    exit(1)
}

import AppAuth
import Glibc

do {
    let store = try FileTokenStore(appID: "org.example.Greeter")
    let signIn = SignIn(issuer: "http://127.0.0.1:8080", clientID: "my-app", appName: "Greeter")

    if CommandLine.arguments.contains("sign-out") {
        if let state = try await AuthState(restoring: store, environment: .live) {
            _ = try await SignOut(appName: "Greeter").run(state)
        }
        print("You are signed out.")
    } else {
        let state = try await signIn.restoreOrSignIn(store: store)
        print("Hello,", await state.claims?.name ?? "stranger")

        let claims = try await state.userInfo()
        print("The provider knows you as", claims.subject ?? "an unknown user")
    }
} catch let error as AuthError where error.needsSignIn {
    fail("You have been signed out. Start the program again to sign in.")
} catch let error as AuthError where error.isTemporary {
    fail("Not now: \(error.message). Try again later; a stored session is unchanged.")
} catch {
    fail("That did not work: \((error as? AuthError)?.message ?? "\(error)")")
}

/// Prints a message on standard error, and ends the program.
func fail(_ message: String) -> Never {
    write(STDERR_FILENO, message + "\n", message.utf8.count + 1)
    exit(1)
}

import Glibc
import SevenPass

do {
    let configuration = SevenPassConfiguration(
        issuer: "http://127.0.0.1:8081", clientID: "seven-pass-app", apiBase: "http://127.0.0.2:8081/api/accounts/")
    let store = try FileTokenStore(appID: "org.example.Greeter7Pass")
    let signIn = SignIn(configuration, appName: "Greeter")

    let state = try await signIn.restoreOrSignIn(store: store)
    print("Hello,", await state.claims?.name ?? "stranger")

    let client = try SevenPassClient(state, configuration)
    print("7Pass knows your address:", try await client.get("me")["email"]?.string ?? "none")
    try await client.post("me/optins", ["type": "sms", "accepted": true])
    for optIn in try await client.get("me/optins")["optins"]?.array ?? [] {
        print(optIn["type"]?.string ?? "?", optIn["accepted"] == true ? "accepted" : "declined")
    }
    try await client.delete("me/optins/sms")

    if CommandLine.arguments.contains("sign-out") {
        print(try await SignOut(appName: "Greeter").run(state))
    }
} catch {
    fail("That did not work: \((error as? AuthError)?.message ?? "\(error)")")
}

/// Prints a message on standard error, and ends the program.
func fail(_ message: String) -> Never {
    write(STDERR_FILENO, message + "\n", message.utf8.count + 1)
    exit(1)
}

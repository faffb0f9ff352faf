import AppAuth
import Foundation

/// The reasons to end with another status than 0 and 1, as in sysexits.h.
enum Status { static let (usage, tryAgain, signInFirst): (Int32, Int32, Int32) = (64, 75, 77) }

/// Tells the user something. The standard output has only the result.
func tell(_ text: String) { FileHandle.standardError.write(Data("my-app: \(text)\n".utf8)) }

func value(_ name: String, _ otherwise: String) -> String {
    ProcessInfo.processInfo.environment[name] ?? otherwise
}

/// Does what the arguments say, and returns the exit status.
func run(_ arguments: [String]) async throws -> Int32 {
    let store = try FileTokenStore(appID: "org.example.CommandLine")
    switch arguments {
    case ["sign-in"]:
        let issuer = try Issuer(value("MY_APP_ISSUER", "https://accounts.example.org"))
        let signIn = SignIn(issuer: issuer, clientID: value("MY_APP_CLIENT", "my-app"), appName: "My App")
        let state = try await signIn.run(store: store)
        tell("Signed in as \(await state.claims?.name ?? "a user without a name").")
        // The tokens of an earlier session may still be being revoked.
        await state.settle()
    case ["sign-out"]:
        var signOut = SignOut(appName: "My App")
        signOut.endsBrowserSession = false
        let report = try await signOut.run(store: store)
        tell(report.map { "\($0)" } ?? "No one was signed in.")
    case ["show"]:
        guard let state = try await AuthState(restoring: store, environment: .live) else {
            tell("You are not signed in. Run 'my-app sign-in'.")
            return Status.signInFirst
        }
        let url = value("MY_APP_API", "https://api.example.org/v1/me")
        let response = try await state.send(TransportRequest(.get, url))
        guard response.status == .ok else {
            tell("The API responds with \(response.status.code).")
            return 1
        }
        print(String(decoding: response.body, as: UTF8.self))
    default:
        tell("Usage: my-app sign-in | show | sign-out")
        return Status.usage
    }
    return 0
}

do {
    exit(try await run(Array(CommandLine.arguments.dropFirst())))
} catch let error as AuthError where error.needsSignIn {
    tell("\(error.message). Run 'my-app sign-in'.")
    exit(Status.signInFirst)
} catch let error as AuthError where error.isTemporary {
    tell("\(error.message). Try again later.")
    exit(Status.tryAgain)
} catch let error as AuthError {
    tell(error.message)
    exit(1)
} catch {
    tell("\(error)")
    exit(1)
}

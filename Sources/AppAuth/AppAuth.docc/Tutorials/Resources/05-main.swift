import AppAuth

let store = try FileTokenStore(appID: "org.example.Greeter")
var signIn = try SignIn(issuer: Issuer("https://accounts.example.org"), clientID: "my-app", appName: "Greeter")
signIn.observe = { event in
    if case .authorization(let url) = event { print("Sign in with the browser:", url) }
}

let state = try await signIn.restoreOrSignIn(store: store)
print("Hello,", await state.record.idToken?.claims.name ?? "stranger")

let claims = try await state.userInfo()
print("The provider knows you as", claims.subject ?? "nobody")

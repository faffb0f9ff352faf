import AppAuth

let store = try FileTokenStore(appID: "org.example.MyApp")
var signIn = SignIn(issuer: "https://accounts.example.org", clientID: "my-app", appName: "My App")
signIn.observe = SignIn.printURL

let state = try await signIn.restoreOrSignIn(store: store)
print("Hello,", await state.claims?.name ?? "stranger")

let response = try await state.get("https://api.example.org/v1/me")
print("The API responds:", String(decoding: response.body, as: UTF8.self))

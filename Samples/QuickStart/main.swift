import AppAuth

let store = FileTokenStore(path: "session.json")
var signIn = try SignIn(issuer: Issuer("https://accounts.example.org"), clientID: "my-app", appName: "My App")
signIn.observe = SignIn.printURL

let state = try await signIn.restoreOrSignIn(store: store)
let token = try await state.freshAccessToken()

print("Hello,", await state.claims?.name ?? "stranger")
print("The access token is good until", token.expiresAt.map { "\($0)" } ?? "further notice")

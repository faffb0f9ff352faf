import AppAuth

let store = try FileTokenStore(appID: "org.example.Greeter")
let signIn = SignIn(issuer: "https://accounts.example.org", clientID: "my-app", appName: "Greeter")

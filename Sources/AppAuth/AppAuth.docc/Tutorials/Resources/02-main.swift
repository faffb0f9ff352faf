import AppAuth

let store = try FileTokenStore(appID: "org.example.Greeter")
let signIn = SignIn(issuer: "http://127.0.0.1:8080", clientID: "my-app", appName: "Greeter")

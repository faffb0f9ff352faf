import AppAuth

let store = try FileTokenStore(appID: "org.example.Greeter")
var signIn = SignIn(issuer: "http://127.0.0.1:8080", clientID: "my-app", appName: "Greeter")
signIn.observe = SignIn.printURL

import AppAuth

let store = try FileTokenStore(appID: "org.example.Greeter")
var signIn = SignIn(issuer: "https://accounts.example.org", clientID: "my-app", appName: "Greeter")
signIn.observe = SignIn.printURL

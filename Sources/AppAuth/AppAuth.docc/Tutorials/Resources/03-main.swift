import AppAuth

let store = try FileTokenStore(appID: "org.example.Greeter")
var signIn = try SignIn(issuer: Issuer("https://accounts.example.org"), clientID: "my-app", appName: "Greeter")
signIn.observe = SignIn.printURL

import SevenPass

let configuration = SevenPassConfiguration(
    issuer: "http://127.0.0.1:8081", clientID: "seven-pass-app", apiBase: "http://127.0.0.2:8081/api/accounts/")
let store = try FileTokenStore(appID: "org.example.Greeter7Pass")
var signIn = SignIn(configuration, appName: "Greeter")
signIn.observe = SignIn.printURL

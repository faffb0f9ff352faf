import AppAuth

let store = FileTokenStore(path: "session.json")
let signIn = try SignIn(issuer: Issuer("https://accounts.example.org"), clientID: "my-app", appName: "Greeter")

import AppAuth

let store = FileTokenStore(path: "session.json")
let signIn = SignIn(issuer: "https://accounts.example.org", clientID: "my-app", appName: "Greeter")

/// The cookie that identifies a browser. Its name contains the port, since cookies ignore ports: two providers on one
/// host would overwrite each other's.
struct BrowserCookie {
    private let name: String
    private let path: String

    init(_ origin: String, path: String) {
        name = "local_provider_" + (origin.split(separator: ":").last.map(String.init) ?? "")
        self.path = path.isEmpty ? "/" : path
    }

    func id(in request: Request) -> String? { request.cookie(name) }

    /// Returns the `Set-Cookie` value. It is not `Secure`, since loopback is http.
    func set(_ id: String) -> String { "\(name)=\(id); Path=\(path); HttpOnly; SameSite=Lax" }

    var clear: String { "\(name)=; Path=\(path); Max-Age=0; HttpOnly; SameSite=Lax" }
}

extension Context {
    func cookie(of role: Role) -> BrowserCookie { BrowserCookie(origin(of: role), path: issuer.path) }
}

/// The cookie that identifies a browser. Its name contains the port, since cookies ignore ports: two providers on one
/// host would overwrite each other's.
struct BrowserCookie {
    private let name: String
    private let path: String

    init(_ issuer: Issuer) {
        name = "local_provider_" + (issuer.origin.split(separator: ":").last.map(String.init) ?? "")
        path = issuer.path.isEmpty ? "/" : issuer.path
    }

    func id(in request: Request) -> String? { request.cookie(name) }

    /// Returns the `Set-Cookie` value. It is not `Secure`, since loopback is http.
    func set(_ id: String) -> String { "\(name)=\(id); Path=\(path); HttpOnly; SameSite=Lax" }

    var clear: String { "\(name)=; Path=\(path); Max-Age=0; HttpOnly; SameSite=Lax" }
}

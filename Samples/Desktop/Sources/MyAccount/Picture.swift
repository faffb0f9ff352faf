import AppAuth
import CAdwaita

/// Fetches a user's picture. The URL comes from the provider, so the request has no token: the picture may be on any server.
func picture(at url: String, by transport: any HTTPTransport) async -> [UInt8]? {
    guard let colon = url.range(of: "://") else { return nil }
    let rest = url[colon.upperBound...]
    let path = rest.firstIndex(of: "/") ?? rest.endIndex
    let head = HTTPRequest(
        method: .get, scheme: String(url[..<colon.lowerBound]), authority: String(rest[..<path]),
        path: path == rest.endIndex ? "/" : String(rest[path...]))
    guard let response = try? await transport.send(TransportRequest(head)), response.status == .ok else { return nil }
    return response.body
}

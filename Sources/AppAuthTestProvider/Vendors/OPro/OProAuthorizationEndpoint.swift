internal import HTTPTypes

/// The page `/oauth/new`, where the user lets an app have access. The demo user is signed in and agrees at once: the
/// double's choice.
struct OProAuthorizationEndpoint: Sendable {
    let records: OProRecords

    /// Redirects to the app's `redirect_uri` with a code. There is no `state`, also if the app has sent one.
    func respond(to request: Request) throws -> Reply {
        guard request.method == .get else { return .noRoute }
        guard let client = request.query["client_id"], records.knows(client), let uri = request.query["redirect_uri"],
            uri.hasPrefix("http://127.0.0.1:") || uri.hasPrefix("http://[::1]:")
        else { return Reply(.notFound, type: "text/html; charset=utf-8", "<!doctype html><p>There is no such app.") }
        let code = try records.makeCodeOfDemo(for: client)
        return .redirect(to: "\(uri)\(uri.contains("?") ? "&" : "?")code=\(code)&response_type=code")
    }
}

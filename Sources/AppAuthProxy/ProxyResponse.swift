internal import AppAuth
internal import JOSE

/// A response of the proxy's own, in place of the server's: a page for browsers, and JSON for other programs.
package struct ProxyResponse: Error, Sendable {
    package let status: Int
    let code: String
    let message: String
    /// What the user can do about it, such as a command line.
    var remedy: String?

    init(_ status: Int, _ code: String, _ message: String, remedy: String? = nil) {
        (self.status, self.code, self.message, self.remedy) = (status, code, message, remedy)
    }

    init(_ refusal: RequestHead.Refusal) {
        self.init(refusal.rawValue, "bad_request", "The request is malformed, or its head is too large.")
    }

    /// - Parameter error: The error of a request to the server, or of the session.
    init(_ error: AuthError, remedy: String?) {
        let message = error.message.onOneLine
        if error.needsSignIn {
            self.init(503, "sign_in_required", message, remedy: remedy)
        } else if error.stage != .resource {
            self.init(503, error.code.rawValue, message)
        } else {
            self.init(error.code == .timeout ? 504 : 502, error.code.rawValue, message)
        }
    }

    /// The bytes of the response, which ends its connection.
    ///
    /// - Parameters:
    ///   - head: The request; nil if it could not be read.
    ///   - origin: The web page of another origin that may read the response.
    func bytes(for head: RequestHead?, readableBy origin: String? = nil) -> [UInt8] {
        var response: RedirectResponse
        if let head, head["accept"]?.lowercased().contains("text/html") == true {
            let text = CompletionPage.Text(
                language: "en", title: "\(status)", heading: status == 503 ? "Not signed in" : "No response",
                message: message)
            let page = CompletionPage(texts: [text], reason: remedy, isSuccess: false)
            response = PageTemplate().response(status, page, for: head)
        } else {
            var error: JSON.Object = ["code": .string(code), "message": .string(message)]
            error["remedy"] = remedy.map(JSON.string)
            let body = JSON.object(["error": .object(error)]).serialized() + "\n"
            response = RedirectResponse(status: status, body: body)
            response.mediaType = "application/json"
        }
        response.fields += ResponseHead.readable(by: origin).map { .init(name: $0.0, value: $0.1) }
        let bytes = response.bytes
        return head?.method == "HEAD" ? bytes.dropLast(response.body.utf8.count) : bytes
    }
}

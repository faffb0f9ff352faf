package import HTTPTypes

/// A request as it arrived, for tests that check what was sent, secrets included.
package struct LoggedRequest: Sendable {
    package let endpoint: Endpoint
    package let method: HTTPRequest.Method
    /// The Host field.
    package let host: String
    package let path: String
    package let query: Parameters
    /// Empty where the body is no form.
    package let form: Parameters
    /// In the order they were sent, repeated ones included.
    package let headers: HTTPFields
    package let body: [UInt8]
    /// The client's certificate in DER; nil where it showed none, and without TLS.
    package let certificate: [UInt8]?
    /// nil until the response is ready, and for requests that got none.
    package internal(set) var status: Int?

    init(_ request: Request, at endpoint: Endpoint) {
        (self.endpoint, method, host) = (endpoint, request.method, request.host)
        (path, query) = (request.path, request.query)
        (form, headers, body) = (request.form ?? Parameters(), request.headers, request.body)
        certificate = request.certificate
    }

    /// Method, path, the names of the parameters and the status: no value, so no secret. ASCII on one line, whatever
    /// was sent.
    package var redacted: String {
        let names = query.names.map { "?" + $0.forDescription } + form.names.map(\.forDescription)
        // What follows an interaction's path is its id, which is as good as a session for a moment.
        let path = endpoint == .interaction ? "/interaction/…" : path.forDescription
        let parts = [method.rawValue, path] + (names.isEmpty ? [] : ["(" + names.joined(separator: " ") + ")"])
        return (parts + ["→", status.map(String.init) ?? "no response"]).joined(separator: " ")
    }
}

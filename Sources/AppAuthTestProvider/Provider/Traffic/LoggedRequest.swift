public import HTTPTypes

/// A request as it arrived, including secrets, for tests that check it.
public struct LoggedRequest: Sendable {
    /// The endpoint.
    public let endpoint: LocalProvider.Endpoint
    /// The method.
    public let method: HTTPRequest.Method
    /// The Host field.
    public let host: String
    /// The path as it was sent, without the query.
    public let path: String
    /// The query.
    public let query: RequestParameters
    /// The form; empty if the body is not a form.
    public let form: RequestParameters
    /// The header fields in the order they were sent, including repeated ones.
    public let headers: HTTPFields
    /// The body.
    public let body: [UInt8]
    /// The client's certificate in DER; nil without TLS, or if the client presented none.
    package let certificate: [UInt8]?
    /// The status of the response; nil if there is none yet, or never was.
    public internal(set) var status: Int?

    init(_ request: Request, at endpoint: Endpoint) {
        (self.endpoint, method, host) = (endpoint, request.method, request.host)
        (path, query) = (request.path, request.query)
        (form, headers, body) = (request.form ?? Parameters(), request.headers, request.body)
        certificate = request.certificate
    }

    /// The method, the path, the names of the parameters and the status, without values and so without secrets. It is
    /// one line of ASCII for any request.
    public var redacted: String {
        let names = query.names.map { "?" + $0.forDescription } + form.names.map(\.forDescription)
        // The rest of an interaction's path is its id, which is briefly as valuable as a session.
        let path = endpoint == .interaction ? "/interaction/…" : path.forDescription
        let parts = [method.rawValue, path] + (names.isEmpty ? [] : ["(" + names.joined(separator: " ") + ")"])
        return (parts + ["→", status.map(String.init) ?? "no response"]).joined(separator: " ")
    }
}

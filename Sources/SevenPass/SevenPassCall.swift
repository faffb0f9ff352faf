internal import AppAuth
internal import HTTPTypes
internal import JOSE

/// A call of the API, before it has a URL and a token.
struct SevenPassCall: Sendable {
    let method: HTTPRequest.Method
    let path: String
    let body: TransportRequest.Content?
    let query: [String: String]
    let headers: HTTPFields

    init(
        _ method: HTTPRequest.Method, _ path: String, body: TransportRequest.Content? = nil,
        _ query: [String: String] = [:],
        _ headers: HTTPFields = [:]
    ) {
        (self.method, self.path, self.body, self.query, self.headers) = (method, path, body, query, headers)
    }

    /// - Parameter proof: The value of `appsecret_proof`; nil sends none.
    func request(at url: SecureURL, serviceID: String?, proof: String?) throws -> TransportRequest {
        var parameters = FormParameters(query)
        parameters.append("appsecret_proof", proof)
        let url = parameters.items.isEmpty ? url : try SecureURL(url.appending(parameters))
        var request = HTTPRequest(method: method, url: url)
        request.headerFields = headers
        if request.headerFields[.accept] == nil { request.headerFields[.accept] = "application/json" }
        if let serviceID, let name = HTTPField.Name("X-Service-Id") { request.headerFields[name] = serviceID }
        if let body { request.headerFields[.contentType] = body.type }
        return TransportRequest(request, body: body?.bytes)
    }
}

extension FormParameters {
    /// The entries of a dictionary, in the order of their names.
    init(_ entries: [String: String]) {
        self.init()
        for (name, value) in entries.sorted(by: { $0.key < $1.key }) { append(name, value) }
    }
}

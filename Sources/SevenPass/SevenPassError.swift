internal import AppAuth
internal import HTTPTypes
internal import JOSE

/// An error response of the API.
///
/// ```swift
/// do { try await client.post("me/optins", ["type": "sms", "accepted": true]) }
/// catch let error as SevenPassError where error.code == "optin_exists" { print("already opted in") }
/// ```
public struct SevenPassError: Error, Sendable, Hashable {
    /// The HTTP status.
    public let status: Int
    /// The member `error` of the response, for example `optin_exists`, or of its `data`, in which the calls without a
    /// user report failures; nil if there is none. Of `data.errors`, it is the first. It is one line of at most 64 code
    /// points.
    public let code: String?
    /// The body as one line of at most 1000 code points, without the access token and passwords.
    public let body: String
    /// The names of the fields that the server rejected.
    public let fields: [String]
    /// The `flags` of a response to a call without a user, beside its failure.
    public let flags: [String]

    init(_ response: TransportResponse, hiding secrets: [Secret]) {
        func clean(_ text: String, _ length: Int) -> String {
            // Some servers repeat what they reject. Texts of less than 4 bytes would match in innocent words.
            let texts = secrets.map { $0.reveal() }.filter { $0.utf8.count >= 4 }
            let plain = texts.reduce(text) { $0.replacing($1, with: "[redacted]") }
            return plain.onOneLine.shortened(to: length)
        }
        let json = try? response.parsedBody
        status = response.status.code
        let data = json?["data"]
        let errors = data?["errors"]
        let code = json?["error"]?.string ?? data?["error"]?.string ?? errors?.string ?? errors?.strings?.first
        // `errors` may also have a sentence for each field: that shape is assumed.
        let byField = errors?.object?.members ?? []
        self.code = (code ?? byField.first?.value.string).map { clean($0, 64) }
        fields = (json?["fields"]?.strings ?? byField.map(\.name)).prefix(16).map { clean($0, 64) }
        let flags = data?["flags"] ?? json?["flags"]
        self.flags = (flags?.strings ?? flags?.object?.members.map(\.name) ?? []).prefix(16).map { clean($0, 64) }
        // The rest would not be shown, so it is not decoded. A token at the cut is either redacted as a whole or cut
        // off with the rest.
        body = clean(String(decoding: response.body.prefix(64 << 10), as: UTF8.self), 1000)
    }
}

extension TransportResponse {
    /// Whether a response reports a failure in its `data`, with any status.
    var hasFailedData: Bool {
        guard let data = (try? parsedBody)?["data"]?.object else { return false }
        func isFailure(_ value: JSON?) -> Bool {
            switch value {
            case nil, false?, ""?, [:]?, []?: false
            default: true
            }
        }
        return isFailure(data["error"]) || isFailure(data["errors"])
    }
}

extension SevenPassError: CustomStringConvertible {
    /// The status and the body in one line.
    public var description: String { "the API returned \(status)" + (body.isEmpty ? "" : ": \(body)") }
}

internal import AppAuth
internal import HTTPTypes
internal import JOSE

/// What the API answered instead of success.
///
/// ```swift
/// do { try await client.post("me/optins", ["type": "sms", "accepted": true]) }
/// catch let error as SevenPassError where error.code == "optin_exists" { … }
/// ```
public struct SevenPassError: Error, Sendable, Hashable {
    /// The HTTP status.
    public let status: Int
    /// The member `error` of the response, for example `email_taken`; nil if there is none. One line, 64 code points at
    /// most.
    public let code: String?
    /// The body: one line, 1000 code points at most, without the access token and passwords.
    public let body: String
    /// The names of the fields that the server found wrong.
    public let fields: [String]

    init(_ response: TransportResponse, hiding secrets: [Secret]) {
        func clean(_ text: String, _ length: Int) -> String {
            // Some servers repeat what they refuse. The shortest texts would be found in innocent words.
            let texts = secrets.map { $0.reveal() }.filter { $0.utf8.count >= 4 }
            let plain = texts.reduce(text) { $0.replacing($1, with: "[redacted]") }
            return plain.onOneLine.shortened(to: length)
        }
        let json = try? JSON(parsing: response.body)
        status = response.status.code
        code = (json?["error"]?.string).map { clean($0, 64) }
        fields = (json?["fields"]?.strings ?? []).prefix(16).map { clean($0, 64) }
        // What will not be shown need not be decoded; a token at the cut is hidden whole, or cut off with the rest.
        body = clean(String(decoding: response.body.prefix(64 << 10), as: UTF8.self), 1000)
    }
}

extension SevenPassError: CustomStringConvertible {
    /// Status and response in one line.
    public var description: String { "the API answered \(status)" + (body.isEmpty ? "" : ": \(body)") }
}

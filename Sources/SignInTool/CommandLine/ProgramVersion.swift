/// The version of the command.
enum ProgramVersion {
    static let number = "0.1.0"
    /// The `User-Agent` of requests (RFC 9110 §10.1.5).
    static let userAgent = "sign-in/\(number)"
}

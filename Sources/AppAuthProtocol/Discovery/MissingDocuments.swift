/// The locations at which a document was looked for in vain, with what each returned.
///
/// A document is not there unless the location responds with 200 and a document that can be used: servers respond with
/// other statuses, redirects, pages, and objects without the members that matter. Then the next standard location is
/// asked.
struct MissingDocuments {
    private var found: [(location: SecureURL, error: AuthError)] = []

    /// The error that says to try again later: a location may have the document.
    var trouble: AuthError? {
        found.lazy.map(\.error).first { $0.isTemporary && $0.connectionProblem?.isOfCertificate != true }
    }

    /// Returns the document at a location; nil if it is not there.
    ///
    /// - Throws: What says more than that there is no document, for example that it is another issuer's.
    mutating func document<Document>(
        at location: SecureURL, _ fetch: () async throws -> Document
    ) async throws -> Document? {
        // A server that cannot be reached is not asked again.
        let isUnreachable = found.contains { $0.location.origin == location.origin && $0.error.isUnreachable }
        guard !isUnreachable else { return nil }
        do { return try await fetch() } catch let error as AuthError where error.saysNotThere {
            found.append((location, error))
            return nil
        }
    }

    /// Returns the error for the case that no location has the document.
    ///
    /// - Parameters:
    ///   - message: What is missing, for example `no OpenID configuration`.
    ///   - remedy: What helps, unless it is to try again later.
    func error(_ message: String, _ remedy: String) -> AuthError {
        guard var error = trouble ?? found.first?.error else { return AuthError(.invalidResponse, .discovery, message) }
        if found.allSatisfy(\.error.isUnreachable) { return error }
        let list = found.map { "\($0.location) (\($0.error.shortReason(at: $0.location)))" }.joined(separator: ", ")
        error.message = "\(message) at \(list). \(trouble == nil ? remedy : "Try again later")".shortened(to: 1000)
        return error
    }
}

extension AuthError {
    /// Whether the server did not say if it has the document.
    var leavesDocumentUnknown: Bool { isTemporary || isUnreachable }

    fileprivate var isUnreachable: Bool { [.transport, .timeout].contains(code) }

    fileprivate var saysNotThere: Bool { code == .invalidResponse || isUnreachable }

    /// The status and what the server says, or what is wrong with the document.
    fileprivate func shortReason(at location: SecureURL) -> String {
        switch httpStatus {
        case let status? where status != 200:
            message.split(separator: "found ", maxSplits: 1).last.map(String.init) ?? "\(status)"
        default: message.hasPrefix("\(location): ") ? String(message.dropFirst("\(location): ".count)) : message
        }
    }
}

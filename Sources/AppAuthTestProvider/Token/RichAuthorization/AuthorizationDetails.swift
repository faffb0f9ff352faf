internal import JOSE

/// The authorization details of a client's request (RFC 9396 §2): objects of types that the provider knows.
enum AuthorizationDetails {
    /// Returns the objects of a request, in their order; empty if it has none.
    static func check(_ parameters: Parameters, _ context: Context) throws(OAuthFailure) -> [JSON] {
        guard let text = parameters["authorization_details"] else { return [] }
        guard let details = (try? JSON(parsing: text))?.array, !details.isEmpty else {
            throw .invalidDetails("expected authorization_details to be a list of objects in JSON")
        }
        for detail in details { try check(detail, context.configuration.authorizationDetailsTypes) }
        return details
    }

    /// Rejects an unknown type, and a member of the wrong kind (RFC 9396 §5, §2.2).
    private static func check(_ detail: JSON, _ types: [String]) throws(OAuthFailure) {
        guard let type = detail["type"]?.string, types.contains(type) else {
            throw .invalidDetails("expected authorization details of a type that this provider supports")
        }
        for name in ["locations", "actions", "datatypes", "privileges"] {
            guard let member = detail[name] else { continue }
            guard member.strings != nil else { throw .invalidDetails("expected \(name) to be a list of strings") }
        }
        guard detail["identifier"].map({ $0.string != nil }) ?? true else {
            throw .invalidDetails("expected identifier to be a string")
        }
    }

    /// Returns the details for a token: a client may request fewer than were granted, but no others (RFC 9396 §6).
    static func limited(_ details: [JSON], to granted: [JSON]) throws(OAuthFailure) -> [JSON] {
        guard details.allSatisfy(granted.contains) else {
            throw .invalidDetails("some authorization details were not granted")
        }
        return details.isEmpty ? granted : details
    }

    /// Adds the metadata of RFC 9396 §10.
    static func describe(_ document: inout JSON.Object, _ context: Context) {
        let types = context.configuration.authorizationDetailsTypes
        document["authorization_details_types_supported"] = .array(types.map(JSON.string))
    }
}

extension OAuthFailure {
    /// The error for invalid details (RFC 9396 §5, §6).
    fileprivate static func invalidDetails(_ description: String) -> OAuthFailure {
        OAuthFailure("invalid_authorization_details", description)
    }
}

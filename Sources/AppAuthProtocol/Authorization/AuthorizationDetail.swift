internal import JOSE

/// One thing that the person should allow, in detail (RFC 9396 §2): more than a scope can say, for example one payment.
///
/// ```swift
/// options.authorizationDetails = [
///     AuthorizationDetail("payment_initiation", actions: ["initiate"], others: ["instructedAmount": ["currency": "EUR", "amount": "123.50"]])
/// ]
/// ```
public struct AuthorizationDetail: Sendable, Hashable {
    /// What kind it is: decides what else there is.
    public var type: String
    /// Where it counts: URIs of resource servers.
    public var locations: [String]
    /// What may be done.
    public var actions: [String]
    /// What kinds of data are meant.
    public var dataTypes: [String]
    /// Which single resource.
    public var identifier: String?
    /// With which rights.
    public var privileges: [String]
    /// What the type has beyond that.
    public var others: JSON.Object

    /// Describes one.
    public init(
        _ type: String, locations: [String] = [], actions: [String] = [], dataTypes: [String] = [],
        identifier: String? = nil, privileges: [String] = [], others: JSON.Object = .init()
    ) {
        (self.type, self.locations, self.actions, self.dataTypes) = (type, locations, actions, dataTypes)
        (self.identifier, self.privileges, self.others) = (identifier, privileges, others)
    }

    /// Reads one, as a server grants it.
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidResponse`` if it has no `type`, or a member of §2.2 that is not
    ///   of its kind.
    public init(_ json: JSON) throws {
        func refusal(_ message: String) -> AuthError { AuthError(.invalidResponse, .token, message) }
        let expected = "expected each of 'authorization_details' to be an object with 'type'"
        guard var members = json.object else { throw refusal("\(expected), found \((json as JSON?).foundKind)") }
        guard let type = members["type"]?.string, !type.isEmpty else {
            throw refusal("\(expected), found one with \(members["type"].foundText)")
        }
        func list(_ name: String) throws -> [String] {
            guard let value = members[name] else { return [] }
            guard let strings = value.strings else {
                let kind = value.array == nil ? members[name].foundKind : "an array with others"
                throw refusal("expected '\(name)' to be an array of strings, found \(kind)")
            }
            members[name] = nil
            return strings
        }
        members["type"] = nil
        (locations, actions) = (try list("locations"), try list("actions"))
        (dataTypes, privileges) = (try list("datatypes"), try list("privileges"))
        if let value = members["identifier"] {
            guard let text = value.string else {
                throw refusal("expected 'identifier' to be a string, found \(members["identifier"].foundKind)")
            }
            identifier = text
            members["identifier"] = nil
        }
        (self.type, others) = (type, members)
    }

    /// As it is sent and stored.
    public var json: JSON {
        var members: JSON.Object = ["type": .string(type)]
        let lists = [
            ("locations", locations), ("actions", actions), ("datatypes", dataTypes), ("privileges", privileges),
        ]
        for (name, values) in lists where !values.isEmpty { members[name] = .array(values.map(JSON.string)) }
        members["identifier"] = identifier.map(JSON.string)
        for member in others.members { members[member.name] = member.value }
        return .object(members)
    }

    /// Reads the array of a parameter.
    static func list(_ text: String) throws -> [AuthorizationDetail] {
        guard let array = (try? JSON(parsing: Array(text.utf8)))?.array else {
            throw AuthError(
                .invalidConfiguration, .authorization,
                "expected 'authorization_details' to be a JSON array, found something else", outcome: .notSent)
        }
        return try array.map(AuthorizationDetail.init)
    }
}

extension [AuthorizationDetail] {
    package var json: JSON { .array(map(\.json)) }
}

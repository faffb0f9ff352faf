internal import JOSE

/// A detailed permission that the user should grant (RFC 9396 §2), such as one payment. It can say more than a scope.
///
/// ```swift
/// options.authorizationDetails = [
///     AuthorizationDetail(
///         "payment_initiation", actions: ["initiate"],
///         others: ["instructedAmount": ["currency": "EUR", "amount": "123.50"]])
/// ]
/// ```
public struct AuthorizationDetail: Sendable, Hashable {
    /// The type, which determines the other members.
    public var type: String
    /// The URIs of the resource servers for which it applies.
    public var locations: [String]
    /// The permitted actions.
    public var actions: [String]
    /// The kinds of data.
    public var dataTypes: [String]
    /// The identifier of a single resource.
    public var identifier: String?
    /// The levels of privilege.
    public var privileges: [String]
    /// The members that the type defines itself.
    public var others: JSON.Object

    /// Creates an authorization detail.
    public init(
        _ type: String, locations: [String] = [], actions: [String] = [], dataTypes: [String] = [],
        identifier: String? = nil, privileges: [String] = [], others: JSON.Object = .init()
    ) {
        (self.type, self.locations, self.actions, self.dataTypes) = (type, locations, actions, dataTypes)
        (self.identifier, self.privileges, self.others) = (identifier, privileges, others)
    }

    /// Parses an authorization detail that a server has granted.
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidResponse`` if `type` is missing, or a member of §2.2 has
    ///   the wrong type.
    public init(_ json: JSON) throws {
        func refusal(_ message: String) -> AuthError { AuthError(.invalidResponse, .token, message) }
        let expected = "expected each of 'authorization_details' to be an object with 'type'"
        guard var members = json.object else { throw refusal("\(expected), found \((json as JSON?).foundKind)") }
        guard let type = members[nonEmpty: "type"]?.exactString else {
            throw refusal("\(expected), found one with \(members["type"].foundText)")
        }
        func take(_ name: String) -> JSON? {
            defer { members[name] = nil }
            return members[name]
        }
        func list(_ name: String) throws -> [String] {
            guard let value = take(name) else { return [] }
            guard let strings = value.strings else {
                throw refusal(
                    "expected \(name.foundText) to be an array of strings, found \(JSON?(value).foundStrings)")
            }
            return strings
        }
        members["type"] = nil
        (locations, actions) = (try list("locations"), try list("actions"))
        (dataTypes, privileges) = (try list("datatypes"), try list("privileges"))
        identifier = try take("identifier").map { value in
            guard let text = value.exactString else {
                throw refusal("expected 'identifier' to be a string, found \(value.kind)")
            }
            return text
        }
        (self.type, others) = (type, members)
    }

    /// The object as it is sent and stored.
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

    /// Parses the array of a request parameter.
    static func list(_ text: String) throws -> [AuthorizationDetail] {
        func refusal(_ message: String) -> AuthError {
            AuthError(.invalidConfiguration, .authorization, message)
        }
        guard let array = (try? JSON(parsing: Array(text.utf8)))?.array else {
            throw refusal("expected 'authorization_details' to be a JSON array, found something else")
        }
        do { return try array.map(AuthorizationDetail.init) } catch let error as AuthError {
            throw refusal(error.message)
        }
    }
}

extension [AuthorizationDetail] {
    package var json: JSON { .array(map(\.json)) }
}

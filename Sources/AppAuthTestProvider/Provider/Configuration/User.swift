public import JOSE

extension LocalProvider {
    /// A user who can sign in.
    public struct User: Sendable {
        /// The name to sign in with.
        public var name: String
        /// The password to sign in with.
        public var password: String
        /// The subject identifier, the same for every client (OpenID Connect Core §8, public).
        public var subject: String
        /// The claims by name (Core §5.1).
        public var claims: JSON.Object
        /// A picture of the user as a PNG. The provider serves it, and adds the claim `picture` unless there is one.
        package var picture: [UInt8]?
        /// The code that a sign-in on the user's own device requires (CIBA Core §7.1 `user_code`); nil if it requires none.
        package var backchannelCode: String?
        /// The claims of other issuers about the user, for the userinfo endpoint.
        package var foreignClaims: [ForeignClaims] = []

        /// Creates a user.
        ///
        /// - Parameters:
        ///   - subject: The subject identifier; by default one that is made from the name.
        ///   - claims: The claims; by default the name.
        public init(name: String, password: String, subject: String? = nil, claims: JSON? = nil) {
            (self.name, self.password) = (name, password)
            // Core §2: a subject is ASCII.
            let id = name.allSatisfy(\.isASCII) ? name : Base64URL.encode(Array(name.utf8))
            self.subject = subject ?? "local|" + id
            self.claims = (claims ?? ["name": .string(name), "preferred_username": .string(name)]).object ?? .init()
        }
    }
}

extension User {
    /// Returns the claims of the scopes (Core §5.4).
    func claims(for scopes: [String]) -> JSON.Object {
        let names = scopes.flatMap { Self.claimsOfScope[$0] ?? [] }
        return names.reduce(into: JSON.Object()) { $0[$1] = claims[$1] }
    }

    static let claimsOfScope: [String: [String]] = [
        "profile": [
            "name", "family_name", "given_name", "middle_name", "nickname", "preferred_username", "profile", "picture",
            "website", "gender", "birthdate", "zoneinfo", "locale", "updated_at",
        ],
        "email": ["email", "email_verified"],
        "phone": ["phone_number", "phone_number_verified"],
        "address": ["address"],
    ]
}

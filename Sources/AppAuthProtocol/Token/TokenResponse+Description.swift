internal import JOSE

extension TokenResponse: CustomStringConvertible, CustomReflectable {
    /// The response as one line of JSON, without tokens and without the members that the library does not know, which may
    /// be secrets too.
    package var description: String {
        var members: JSON.Object = ["token_type": .string(tokenType.rawValue)]
        members["expires_in"] = lifetime.map { .number(.init($0.components.seconds)) }
        members["scope"] = scope.map { .string($0.map(\.rawValue).joined(separator: " ")) }
        members["has_refresh_token"] = .bool(refreshToken != nil)
        members["has_id_token"] = .bool(idToken != nil)
        return JSON.object(members).serialized()
    }

    /// A mirror without children, so that `dump` prints no more.
    package var customMirror: Mirror { Mirror(self, children: []) }
}

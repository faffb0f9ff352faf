public import FoundationEssentials
internal import JOSE

/// The provider's response to a ``BackchannelAuthenticationRequest`` (CIBA Core §7.3). It now asks the user.
public struct BackchannelAuthentication: Sendable {
    /// The request.
    public let request: BackchannelAuthenticationRequest
    /// How long the user may decide, from receipt.
    public var expiresIn: Duration { term.length }
    /// When the request expires, by this machine's clock.
    public var expiresAt: Date { term.begin.wall + term.length.seconds }
    /// The initial pause between a response and the next poll: the provider's value, at least 1 second; by default 5.
    public let interval: Duration
    /// The request's ID, for the token endpoint.
    package let authReqID: Secret
    package let term: Term

    private static let idCharacters = Set(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._".utf8)

    init(_ response: TransportResponse, to request: BackchannelAuthenticationRequest, received: Timestamp) throws {
        let object = try ResponseObject(
            accepted: response, as: "backchannel authentication response", stage: .authorization)
        self.request = request
        // §7.3: REQUIRED, of letters, digits, '.', '-' and '_'.
        let id = try object.required("auth_req_id") { try object.text($0, atMost: 8192) }
        guard id.utf8.allSatisfy(Self.idCharacters.contains) else {
            throw object.refusal("expected 'auth_req_id' of letters, digits, '.', '-' and '_', found other characters")
        }
        authReqID = Secret(id)
        // §7.3: REQUIRED, positive.
        let lifetime = try object.required("expires_in") { try object.seconds($0, atLeast: 1) }
        term = Term(from: received, for: .seconds(lifetime))
        // The user has been asked already: a value that cannot be read is no reason to give up.
        interval = .seconds(max(1, ((try? object.seconds("interval", .up)) ?? nil) ?? 5))
    }
}

extension BackchannelAuthentication: CustomStringConvertible, CustomReflectable {
    /// Names only client and provider.
    public var description: String {
        "backchannel authentication of \(request.client.id.foundText) by \(request.client.provider.issuer)"
    }
    /// A mirror without children, so that `dump` prints no more.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

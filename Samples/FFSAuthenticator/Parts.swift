internal import AppAuthFoundation
internal import Foundation
internal import FoundationNetworking
internal import VendorSample

/// The four parts of an `Authenticator` that an app can replace, each with one of its own.
enum Parts {
    static func authenticator(_ tokenRequest: URLRequest, at location: Server.Location) throws -> Authenticator {
        // Only the first parameter is required.
        try Authenticator(
            tokenURLRequest: tokenRequest, clientID: location.clientID, clientSecret: location.secret,
            // 1. The token store: the keyring at a real server, a file at the simulated one. The default is the keyring.
            store: location.store,
            // 2. The URLSession, of which the configuration counts. The default is a plain one.
            urlSession: URLSession(configuration: patient),
            // 3. The parser of the access token. The default is the standard's JSON.
            accessTokenParser: withType,
            // 4. The request authenticator. This one is the default written out, for a bearer token.
            requestAuthenticator: { token, fields in fields[.authorization] = "Bearer \(token.value.reveal())" })
    }

    private static var patient: URLSessionConfiguration {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpCookieStorage = nil
        configuration.timeoutIntervalForRequest = 20
        return configuration
    }

    /// Some servers leave out `token_type`, which RFC 6749 §5.1 requires.
    @Sendable private static func withType(_ response: TransportResponse) -> TransportResponse {
        guard var members = (try? JSON(parsing: response.body))?.object, members["access_token"] != nil,
            members["token_type"] == nil
        else { return response }
        members["token_type"] = "Bearer"
        var response = response
        response.body = Array(JSON.object(members).serialized().utf8)
        return response
    }
}

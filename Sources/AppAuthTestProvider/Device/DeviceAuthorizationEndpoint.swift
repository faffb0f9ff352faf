internal import AppAuthConcurrency
internal import JOSE
internal import FoundationEssentials

/// The device authorization endpoint (RFC 8628 §3.1, §3.2).
struct DeviceAuthorizationEndpoint {
    let context: Context

    func respond(to request: Request) throws -> Reply {
        try FormEndpoint(context: context).respond(to: request) { form, client in
            guard client.grantTypes.contains(GrantType.deviceCode) else {
                throw OAuthFailure("unauthorized_client", "the client may not use this grant_type")
            }
            let resources = try ResourceIndicators.check(form, context)
            let (deviceCode, device) = try begin(client, scopes(form["scope"], client), resources)
            return .json(context.edited(document(deviceCode, device)))
        }
    }

    /// Returns the scopes that can be granted. The page always asks for consent, so offline_access needs no prompt.
    private func scopes(_ text: String?, _ client: RegisteredClient) throws(OAuthFailure) -> [String] {
        let wanted = (text ?? "").split(separator: " ").map(String.init)
        let scopes = Metadata.scopes.filter { scope in
            wanted.contains(scope) && (scope != "offline_access" || client.grantTypes.contains("refresh_token"))
        }
        guard !scopes.isEmpty else { throw OAuthFailure("invalid_scope", "expected a scope that can be granted") }
        return scopes
    }

    private func begin(
        _ client: RegisteredClient, _ scopes: [String], _ resources: [String]
    ) throws -> (String, DeviceRequest) {
        let (deviceCode, now, configuration) = (try OpaqueToken.make(), context.now, context.configuration)
        return try context.store.withLock { records in
            records.prune(now)
            var userCode = try UserCode.make()
            while records.waitingDevice(userCode, now) != nil { userCode = try UserCode.make() }
            let device = DeviceRequest(
                client: client, scopes: scopes, resources: resources, userCode: userCode,
                expiresAt: now.adding(configuration.deviceCodeLifetime),
                pace: PollingPace(interval: configuration.devicePollingInterval))
            records.devices[deviceCode] = device
            records.userCodes[userCode] = deviceCode
            return (deviceCode, device)
        }
    }

    private func document(_ deviceCode: String, _ device: DeviceRequest) -> JSON {
        let page = context.issuer.url(.deviceVerification)
        return [
            "device_code": .string(deviceCode), "user_code": .string(device.userCode.shown),
            "verification_uri": .string(page),
            "verification_uri_complete": .string(page.appending([("user_code", device.userCode.shown)])),
            "expires_in": .number(.init(context.configuration.deviceCodeLifetime)),
            "interval": .number(.init(device.pace.interval)),
        ]
    }
}

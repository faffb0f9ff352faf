internal import AppAuthConcurrency
internal import FoundationEssentials

/// The grant that issues a device's tokens after the user has approved it (RFC 8628 §3.4, §3.5).
struct DeviceCodeGrant {
    let context: Context

    func redeem(_ form: Parameters, _ client: RegisteredClient) throws -> TokenReply {
        guard let value = form["device_code"] else { throw OAuthFailure.invalidRequest("expected a device_code") }
        let resources = try ResourceIndicators.check(form, context)
        let now = context.now
        // A failure is returned as a value, so that its changes to the store are kept.
        let result: Result<IssuedTokens, any Error> = context.store.withLock { records in
            guard var device = records.devices[value], device.client.id == client.id else {
                return .failure(OAuthFailure.invalidGrant("the device_code was issued to another client"))
            }
            defer { records.devices[value] = device }
            guard device.expiresAt > now else {
                return .failure(OAuthFailure("expired_token", "the device_code has expired"))
            }
            switch device.status {
            case .pending: return .failure(device.pace.poll(now))
            case .denied: return .failure(OAuthFailure("access_denied", "the user denied the request"))
            case .used: return .failure(OAuthFailure.invalidGrant("the device_code was used before"))
            case .approved(var grant):
                device.status = .used
                return Result {
                    grant.resources = try CodeGrant.limited(resources, to: grant.resources)
                    return try TokenIssuer(context: context).issue(grant, to: client, in: &records)
                }
            }
        }
        return try TokenIssuer(context: context).respond(result.get(), to: client)
    }
}

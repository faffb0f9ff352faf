internal import AppAuthConcurrency
internal import FoundationEssentials

extension LocalProvider {
    /// A sign-in that waits for a decision on the user's device.
    package struct WaitingApproval: Sendable, Hashable {
        package let authReqID: String
        package let userName: String
        package let bindingMessage: String?
    }

    /// The sign-ins that the users' devices show now.
    package var waitingApprovals: [WaitingApproval] {
        let now = context.now
        return context.store.withLock { records in
            records.backchannel.compactMap { id, request in
                guard case .pending = request.status, request.expiresAt > now else { return nil }
                return WaitingApproval(
                    authReqID: id, userName: request.user.name, bindingMessage: request.bindingMessage)
            }
        }
    }

    /// Decides a sign-in as the user on their device.
    ///
    /// - Throws: ``ProviderError`` if no sign-in with this id is waiting.
    package func decide(_ authReqID: String, isAllowed: Bool) throws {
        let (now, grantID) = (context.now, try OpaqueToken.make())
        try context.store.withLock { records in
            guard var request = records.backchannel[authReqID], case .pending = request.status,
                request.expiresAt > now
            else { throw ProviderError("nothing waits for a decision as '\(authReqID)'") }
            request.status =
                isAllowed
                ? .approved(
                    Grant(
                        id: grantID, clientID: request.client.id, subject: request.user.subject,
                        scopes: request.scopes, authTime: now, acr: Metadata.acr, nonce: nil, claims: .none,
                        resources: [])) : .denied
            records.backchannel[authReqID] = request
        }
    }
}

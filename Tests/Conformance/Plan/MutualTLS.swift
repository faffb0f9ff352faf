import AppAuthServer
import AppAuth
import AppAuthProtocol
import AppAuthSession
import HTTPTypes
import AppAuthTestProvider
import Testing

extension RelyingParty {
    /// The session's access token is bound to the client's certificate, and a resource takes it on no connection but one that
    /// shows it (RFC 8705 §3, FAPI 1.0 Advanced §5.2.2).
    func expectBoundToken(_ state: AuthState, sourceLocation: SourceLocation = #_sourceLocation) async throws {
        let certificates = try #require(certificates)
        let token = try await state.freshAccessToken()
        let introspection = try IntrospectionEndpoint(client: await state.record.client, environment: environment)
        let confirmation = try await introspection.introspect(token.value).confirmation
        #expect(
            try CertificateThumbprint(confirmation: confirmation)
                == CertificateThumbprint(certificate: certificates.client.der), sourceLocation: sourceLocation)
        for (certificate, status) in [(nil, 401), (certificates.other, 401), (certificates.client, 200)] {
            var request = HTTPRequest(method: .get, url: try SecureURL(provider.url(.api)))
            request.headerFields[.authorization] = token.authorization
            let response = try await certificates.transport(showing: certificate).send(TransportRequest(request))
            #expect(response.status.code == status, sourceLocation: sourceLocation)
        }
    }
}

internal import AppAuthConcurrency
internal import AppAuthProtocol
internal import HTTPTypes
internal import JOSE

/// The clients that publish their metadata at the URL that is their ID (draft-ietf-oauth-client-id-metadata-document-02).
struct ClientDocuments {
    let context: Context

    /// Draft §8.7: a larger document counts as an error.
    private static let limit = 5000

    /// Fetches the document of the client that sends a request, unless the client is registered. Each authorization
    /// request fetches it again (§5), so that changes take effect.
    ///
    /// - Returns: The response if there is no valid document; otherwise nil.
    func load(for request: Request, at endpoint: Endpoint) async -> Reply? {
        guard context.configuration.clientDocumentRoots != nil,
            let id = request.query["client_id"] ?? request.form?["client_id"], id.hasPrefix("https://"),
            !context.configuration.clients.contains(where: { $0.id == id }),
            endpoint == .authorization || context.client(id) == nil
        else { return nil }
        do throws(OAuthFailure) {
            let client = try await client(id)
            context.documents.withLock { $0[id] = client }
            return nil
        } catch {
            // §5.1, RFC 6749 §4.1.2.1: without the document, no redirect URI is trusted.
            guard endpoint == .authorization else { return OAuthFailure.invalidClient(error.description).reply }
            return Pages(context: context).refusal(error.description)
        }
    }

    private func client(_ id: String) async throws(OAuthFailure) -> RegisteredClient {
        let document = try await document(at: id)
        // §4: simple string comparison.
        guard document["client_id"]?.string?.isExactly(id) == true else {
            throw .invalidClient("expected the client_id in the document of the client to be its URL")
        }
        // §4.1: the client shares no secret with the provider.
        guard document["client_secret"] == nil, document["client_secret_expires_at"] == nil else {
            throw .invalidClient("expected no client_secret in the document of the client")
        }
        let client = try SubmittedMetadata(document, DynamicRegistration(), context).client(id)
        // §4.1. Without a method, RFC 7591 §2 means client_secret_basic.
        guard !client.authentication.contains(where: \.needsSecret) else {
            throw .invalidClient("expected a token_endpoint_auth_method without a secret in the document of the client")
        }
        return client
    }

    private func document(at id: String) async throws(OAuthFailure) -> JSON.Object {
        // §3, which advises against the path `/`. A SecureURL has no user information and no fragment.
        let segments = (try? SecureURL(id))?.path.split(separator: "/", omittingEmptySubsequences: false)
        guard let segments, segments != ["", ""], !segments.contains("."), !segments.contains("..") else {
            throw .invalidClient("expected the client_id to be an https URL with a path without dot segments")
        }
        // §8.6 lets a test provider fetch from loopback, and this one fetches from nowhere else.
        let response: TransportResponse
        do { response = try await context.ownClient.get(id, atMost: Self.limit) } catch {
            let cause = (error as? AuthError)?.message ?? "\(error)"
            throw .invalidClient("could not fetch the document of the client: \(cause)")
        }
        // §5: any other status is an error. Redirects are not followed.
        guard response.status == .ok else {
            throw .invalidClient("expected the document of the client, found the status \(response.status.code)")
        }
        // §4.
        guard let type = response.mediaType,
            type == "application/json" || (type.hasPrefix("application/") && type.hasSuffix("+json")),
            let document = try? JSON(parsing: response.body).object
        else { throw .invalidClient("expected a JSON object of type application/json as the document of the client") }
        return document
    }
}

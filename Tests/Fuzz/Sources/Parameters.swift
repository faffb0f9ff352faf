internal import AppAuth
internal import JOSE

/// The invariants of a redirect's parameters.
enum Parameters {
    private static let state = "right"

    /// One request for all inputs, with a state that a fuzzer can find.
    static let request: AuthorizationRequest = {
        do {
            let provider = try ProviderMetadata(
                document: [
                    "issuer": "https://op.example", "authorization_endpoint": "https://op.example/authorize",
                    "authorization_response_iss_parameter_supported": true,
                ])
            return try AuthorizationRequest(
                client: Client(id: "fuzz", provider: provider), redirectURI: "http://127.0.0.1:4711/cb",
                scope: [.openID], options: .init(), state: Secret(state), nonce: Secret("nonce"), pkce: PKCE())
        } catch { fatalError("\(error)") }
    }()

    static func check(_ query: String) {
        let parameters = FormParameters(decoding: query)
        if let parameters {
            expect(FormParameters(decoding: parameters.encoded) == parameters, "encoded and decoded: something else")
        }
        // What cannot be read is absent, or refused.
        let readable = query.split(separator: "&").compactMap { FormParameters(decoding: $0)?.items.first }
        func values(_ name: String) -> [String] { readable.filter { $0.name == name }.map(\.value) }
        do {
            guard try request.response(fromQuery: query) != nil else {
                // The awaited response must not be passed over.
                expect(!values("state").contains(state), "the right state was ignored")
                return
            }
            // RFC 6749 §4.1.2, RFC 9207 §2.4: each once, state and issuer right, a code, and no error.
            let isOurs = values("state") == [state] && values("iss") == ["https://op.example"]
            expect(isOurs, "accepted with another state or issuer")
            expect(values("code").count == 1 && values("code").first?.isEmpty == false, "accepted without a code")
            expect(values("error").first?.isEmpty ?? true, "accepted with an error")
        } catch let error as AuthError {
            // Nothing may end the wait but a response with the right state.
            expect(query.split(separator: "&").contains(where: isState), "ended by a response with another state")
            expect(
                !error.message.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x7F }, "a control character")
        } catch { fatalError("another error: \(error)") }
    }

    private static func isState(_ piece: Substring) -> Bool {
        FormParameters(decoding: piece)?.values("state").contains(state) == true
    }
}

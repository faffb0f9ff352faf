internal import HTTPTypes
internal import JOSE

extension BearerToken {
    /// Rejects a bound token if the sender has not proved its key or certificate (RFC 9449 §7, RFC 8705 §3).
    ///
    /// - Parameter value: The token itself.
    func checkBinding(
        of token: AccessToken, _ value: String, _ scheme: Scheme, _ request: Request
    ) throws(Refusal) {
        switch scheme {
        case .bearer where token.confirmation == request.certificate.map(Confirmation.init(certificate:)): break
        case .bearer:
            // RFC 8705 §3: 401 with invalid_token.
            if case .certificate = token.confirmation {
                throw Refusal(
                    .unauthorized, "invalid_token", "the access token is bound to another certificate than was shown")
            }
            // §7.2: otherwise a stolen token would be valid without its key.
            guard token.confirmation == nil else {
                throw refusal("invalid_token", "the access token is bound to a key: expected the scheme DPoP")
            }
        case .dpop:
            let proof: Confirmation?
            do throws(OAuthFailure) {
                proof = try DPoP(context: context).proof(in: request, for: value)
            } catch {
                throw refusal(error.code, error.description)
            }
            guard let proof else { throw refusal("invalid_dpop_proof", "expected a DPoP field beside the token") }
            guard proof == token.confirmation else {
                throw refusal("invalid_token", "the access token is not bound to the key of the proof")
            }
        }
    }

    /// Returns a refusal whose challenge names the algorithms (RFC 9449 §7.1).
    private func refusal(_ error: String, _ description: String) -> Refusal {
        let algorithms = context.configuration.dpopAlgorithms.map(\.rawValue).joined(separator: " ")
        return Refusal(.unauthorized, error, description, scheme: .dpop, [("algs", algorithms)])
    }
}

internal import AppAuth
internal import BenchReport
internal import FoundationEssentials

/// `verify DIR ALG SECONDS`
func verify(folder: String, algorithm: String, for duration: Duration) throws -> Report {
    let keys = try KeySet(document: contents(of: "\(folder)/jwks.json"))
    let samples = try Sample.list(contents(of: "\(folder)/\(algorithm).txt"))
    guard let first = samples.first else { throw Failure("expected tokens in \(algorithm).txt, found none") }
    let verifier = try first.verifier(algorithm: algorithm, times: samples.map(\.payload))
    let seconds = duration / .seconds(1)

    var (n, spent, position) = (0, Spent(), 0)
    let start = Spent.now
    repeat {
        // The clock is read once for a batch, since reading it costs as much as a check.
        for _ in 0..<64 {
            _ = try verifier.verify(samples[position].token, keys: keys, expecting: samples[position].expected)
            position = position + 1 < samples.count ? position + 1 : 0
        }
        n += 64
        spent = Spent.now - start
    } while spent.wall < seconds
    return Report(n: n, spent)
}

/// A token with the nonce that was sent for it.
private struct Sample {
    let token: Secret
    let expected: IDTokenVerifier.Expectations
    /// Read without verification, to get the values that the verifier expects.
    let payload: JSON

    static func list(_ bytes: [UInt8]) throws -> [Sample] {
        try bytes.split(separator: UInt8(ascii: "\n")).map { line in
            let fields = line.split(separator: UInt8(ascii: "\t")).map { String(decoding: $0, as: UTF8.self) }
            guard fields.count == 2 else { throw Failure("expected lines of token, tab and nonce") }
            return Sample(
                token: Secret(fields[0]), expected: .init(nonce: Secret(fields[1])), payload: try payload(of: fields[0])
            )
        }
    }

    private static func payload(of token: String) throws -> JSON {
        let parts = token.split(separator: ".")
        guard parts.count == 3 else { throw Failure("expected a token of three parts") }
        let standard = String(parts[1].map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 })
        let padding = String(repeating: "=", count: (4 - standard.count % 4) % 4)
        guard let data = Data(base64Encoded: standard + padding) else { throw Failure("expected a token in base64url") }
        return try JSON(parsing: Array(data))
    }

    /// A verifier for this token's issuer and audience, with a clock by which none of the tokens has expired.
    func verifier(algorithm: String, times payloads: [JSON]) throws -> IDTokenVerifier {
        let audience = payload["aud"]?.strings ?? payload["aud"]?.string.map { [$0] } ?? []
        guard let issuer = payload["iss"]?.string, let clientID = payload["azp"]?.string ?? audience.first else {
            throw Failure("expected a token with 'iss' and 'aud'")
        }
        let provider = try ProviderMetadata(
            issuer: Issuer(issuer), endpoints: [:],
            more: ["id_token_signing_alg_values_supported": [.string(algorithm)]])
        var verifier = IDTokenVerifier(client: Client(id: clientID, provider: provider))
        verifier.client.idTokenRules.trustedAudiences = Set(audience)
        let issued = payloads.compactMap { $0["iat"]?.double }
        let expiry = payloads.compactMap { $0["exp"]?.double }.min()
        let now = Date().timeIntervalSince1970
        guard let oldest = issued.min(), let newest = issued.max(), let expiry else {
            throw Failure("expected tokens with 'iat' and 'exp'")
        }
        if expiry <= now { verifier.now = { Timestamp(wall: Date(timeIntervalSince1970: newest)) } }
        verifier.client.idTokenRules.maximumAge = .seconds(max(now - oldest, 0) + 86_400)
        return verifier
    }
}

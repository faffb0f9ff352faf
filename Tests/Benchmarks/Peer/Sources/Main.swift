// jwt-kit-bench: `appauth-bench verify DIR ALG SECONDS` with vapor/jwt-kit, in the same way: signature, iss, aud, exp and nonce of
// each ID token, one after the other. Prints one line of JSON with `n`, `wall_s` and `cpu_s`.

internal import FoundationEssentials
internal import Glibc
internal import JWTKit

struct IDTokenPayload: JWTPayload {
    let iss: IssuerClaim
    let sub: SubjectClaim
    let aud: AudienceClaim
    let exp: ExpirationClaim
    let iat: IssuedAtClaim
    let nonce: String?

    func verify(using algorithm: some JWTAlgorithm) throws { try exp.verifyNotExpired() }
}

struct Failure: Error { let message: String }

@main
enum Main {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 4, let seconds = Double(arguments[3]) else {
            throw Failure(message: "expected DIR ALG SECONDS")
        }
        let (folder, algorithm) = (arguments[1], arguments[2])
        let keys = JWTKeyCollection()
        try await keys.add(jwksJSON: text(of: "\(folder)/jwks.json"))
        let samples = try text(of: "\(folder)/\(algorithm).txt").split(separator: "\n").map { line in
            let fields = line.split(separator: "\t").map(String.init)
            guard fields.count == 2 else { throw Failure(message: "expected lines of token, tab and nonce") }
            return (token: fields[0], nonce: fields[1])
        }
        let first = try await keys.unverified(samples[0].token, as: IDTokenPayload.self)
        guard let audience = first.aud.value.first else { throw Failure(message: "expected an audience") }

        var (n, position) = (0, 0)
        let (wall, cpu) = (time(CLOCK_MONOTONIC), time(CLOCK_PROCESS_CPUTIME_ID))
        repeat {
            for _ in 0..<64 {
                let sample = samples[position]
                let payload = try await keys.verify(sample.token, as: IDTokenPayload.self)
                try payload.aud.verifyIntendedAudience(includes: audience)
                guard payload.iss == first.iss, payload.nonce == sample.nonce else {
                    throw Failure(message: "expected another issuer or nonce")
                }
                position = position + 1 < samples.count ? position + 1 : 0
            }
            n += 64
        } while time(CLOCK_MONOTONIC) - wall < seconds
        let spent = (time(CLOCK_MONOTONIC) - wall, time(CLOCK_PROCESS_CPUTIME_ID) - cpu)
        print(#"{"n":\#(n),"wall_s":\#(spent.0),"cpu_s":\#(spent.1)}"#)
    }

    private static func text(of path: String) throws -> String {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw Failure(message: "\(path) cannot be read")
        }
        return String(decoding: data, as: UTF8.self)
    }

    private static func time(_ clock: clockid_t) -> Double {
        var time = timespec()
        clock_gettime(clock, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}

import AppAuthProtocol
import Foundation
import JOSE
import TestFixtures
import Testing

/// OpenID Connect Core §3.1.3.7 steps 9 and 10, RFC 7519 §4.1.4 to §4.1.6: times in seconds from the machine's clock,
/// with 60 s of leeway.
struct IDTokenTimesTests {
    private let signer: Signer

    init() throws { signer = try Signer() }

    // fapi2-…-invalid-expired-exp
    @Test(arguments: [("exp", -60, "expired 60 s ago"), ("exp", -3600, "expired 3600 s ago")])
    func `step 9: an expired token is refused with the skew`(name: String, offset: Int, message: String) throws {
        try expectSkew(name, offset, message)
        try expectSuccess(name, -59)
    }

    @Test func `the skew of an expired token is the one of its issue`() throws {
        let token = try signer.token {
            $0["iat"] = time(-7200)
            $0["exp"] = time(-6600)
        }
        let error = try #require(refusal { try verify(token) })
        #expect(error.message.contains("issued 7200 s and expired 6600 s ago"), "\(error.message)")
    }

    @Test func `step 10: a token from the future is refused with the skew`() throws {
        try expectSkew("iat", 61, "issued 61 s ahead")
        try expectSuccess("iat", 60)
    }

    // fapi1-…-iat-is-week-in-past
    @Test func `step 10: a token that is old and has just come is refused with the skew`() throws {
        try expectSkew("iat", -86_461, "issued 86461 s ago")
        try expectSkew("iat", -7 * 86_400, "issued 604800 s ago")
        try expectSuccess("iat", -86_460)
    }

    @Test func `a token that is not valid yet is refused with the skew (RFC 7519 §4.1.5)`() throws {
        try expectSkew("nbf", 61, "becomes valid in 61 s")
        try expectSuccess("nbf", 60)
        try expectSuccess("nbf", -86_400)
    }

    @Test func `leeway and age are the app's to set`() throws {
        let late = try signer.token { $0["exp"] = time(-200) }
        #expect(refusal { try verify(late) { $0.leeway = .seconds(200) } }?.code == .clockSkew)
        #expect(refusal { try verify(late) { $0.leeway = .seconds(201) } } == nil)
        let old = try signer.token { $0["iat"] = time(-700) }
        #expect(refusal { try verify(old) { $0.maximumAge = .seconds(639) } }?.code == .clockSkew)
        #expect(refusal { try verify(old) { $0.maximumAge = .seconds(640) } } == nil)
    }

    // oidcc-client-test-missing-iat; fapi2-…-invalid-missing-exp
    @Test(arguments: ["exp", "iat"])
    func `exp and iat are there`(name: String) throws {
        let error = try #require(refusal { try verify(signer.token { $0[name] = nil }) })
        #expect(error.code == .invalidIDToken)
        #expect(error.message.contains("'\(name)', found none"))
    }

    @Test(
        arguments: ["exp", "iat", "nbf", "auth_time"], ["1750000300", -1, true, "", [], 253_402_300_800] as [JSON])
    func `a time is a number of seconds from 1970 to 9999 (RFC 7519 §2)`(name: String, value: JSON) throws {
        let error = try #require(refusal { try verify(signer.token { $0[name] = value }) })
        #expect(error.code == .invalidIDToken)
        #expect(error.message.contains("'\(name)'"))
    }

    @Test(arguments: [0, 253_402_300_799] as [JSON])
    func `a time may be the first and the last second of these years`(value: JSON) throws {
        let name = value == 0 ? "nbf" : "exp"
        #expect(refusal { try verify(signer.token { $0[name] = value }) } == nil)
    }

    @Test func `a time may have a fraction, and 1e400 is none (RFC 7519 §2)`() throws {
        #expect(refusal { try verify(signer.token { $0["exp"] = .number(.init(validated: "1750000300.5")) }) } == nil)
        #expect(refusal { try verify(signer.token { $0["exp"] = .number(.init(validated: "1.7500003e9")) }) } == nil)
        let huge = refusal { try verify(signer.token { $0["exp"] = .number(.init(validated: "1e400")) }) }
        #expect(huge?.code == .invalidIDToken)
    }

    @Test func `a wrong time is reported only if everything else is right`() throws {
        let token = try signer.token {
            $0["exp"] = time(-3600)
            $0["nonce"] = "another"
        }
        #expect(refusal { try verify(token) }?.code == .invalidIDToken)
    }

    @Test func `a wrong clock can be set right, so that the error is a temporary one`() throws {
        let error = try #require(refusal { try verify(signer.token { $0["iat"] = time(61) }) })
        #expect(error.isTemporary)
        #expect(error.stage == .idToken)
    }

    private func time(_ offset: Int) -> JSON { .number(.init(Int(Signer.now.timeIntervalSince1970) + offset)) }

    private func verify(_ token: Secret, _ configure: (inout IDTokenRules) -> Void = { _ in }) throws -> IDToken {
        var verifier = try Signer.verifier()
        configure(&verifier.client.idTokenRules)
        return try verifier.verify(token, keys: signer.keys, expecting: .usual)
    }

    private func expectSuccess(_ name: String, _ offset: Int) throws {
        _ = try verify(signer.token { $0[name] = time(offset) })
    }

    private func expectSkew(_ name: String, _ offset: Int, _ message: String) throws {
        let error = try #require(refusal { try verify(signer.token { $0[name] = time(offset) }) })
        #expect(error.code == .clockSkew)
        #expect(error.message.contains(message), "\(error.message)")
    }
}

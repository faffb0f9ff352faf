import AppAuthCore
import Foundation
import Testing

/// When a token is refreshed: 60 s before its end, at most a tenth of its lifetime, or as a caller needs.
struct FreshnessTests {
    private let start = Date(timeIntervalSince1970: 1_750_000_000)

    @Test(arguments: [
        (3600, 3540, true), (3600, 3541, false), (600, 540, true), (600, 541, false), (60, 54, true), (60, 55, false),
        (10, 9, true), (10, 10, false), (1, 0, true), (0, 0, false),
    ])
    func `a token is fresh until 60 s, or a tenth of its lifetime, before its end`(
        lifetime: Double, age: Double, isFresh: Bool
    ) {
        #expect(token(lifetime).isFresh(at: start + age) == isFresh)
    }

    @Test(arguments: [
        (0, 3599, true), (0, 3600, false), (1, 3599, true), (1800, 1800, true), (1800, 1801, false), (3601, 0, false),
    ])
    func `a caller names the validity that it needs`(minimum: Int, age: Double, isFresh: Bool) {
        #expect(token(3600).isFresh(at: start + age, minimumValidity: .seconds(minimum)) == isFresh)
    }

    @Test func `a token without an end is always fresh`() {
        #expect(token(nil).isFresh(at: start + 1e9, minimumValidity: .seconds(1e9)))
        #expect(!token(nil).isExpired(at: start + 1e9))
    }

    @Test func `a token expires at its end`() {
        #expect(!token(60).isExpired(at: start + 59))
        #expect(token(60).isExpired(at: start + 60))
    }

    @Test func `a token is presented with its type, and not printed (RFC 6750 §2.1)`() {
        #expect(token(60).authorization == "Bearer mF_9.B5f-4.1JqM")
        #expect(!"\(token(60)) \(String(reflecting: token(60)))".contains("mF_9"))
    }

    private func token(_ lifetime: Double?) -> AccessToken {
        AccessToken(value: Secret("mF_9.B5f-4.1JqM"), issuedAt: start, expiresAt: lifetime.map { start + $0 })
    }
}

import AppAuthProtocol
import Foundation
import JOSE
import TestFixtures
import Testing

/// OpenID Connect Core §2, §5.1: each property reads the claim of its name, and no other.
struct ClaimPropertiesTests {
    private static let texts: [(String, @Sendable (Claims) -> String?)] = [
        ("sub", { $0.subject }), ("name", { $0.name }), ("given_name", { $0.givenName }),
        ("family_name", { $0.familyName }), ("middle_name", { $0.middleName }), ("nickname", { $0.nickname }),
        ("preferred_username", { $0.preferredUsername }), ("profile", { $0.profile }), ("picture", { $0.picture }),
        ("website", { $0.website }), ("email", { $0.email }), ("gender", { $0.gender }),
        ("birthdate", { $0.birthdate }), ("zoneinfo", { $0.zoneInfo }), ("locale", { $0.locale }),
        ("phone_number", { $0.phoneNumber }),
    ]

    @Test(arguments: texts.indices)
    func `a text is the claim of its name`(index: Int) {
        let (name, property) = Self.texts[index]
        var members = JSON.Object()
        for text in Self.texts { members[text.0] = .string("the \(text.0)") }
        #expect(property(Claims(members)) == "the \(name)")
        members[name] = 1
        #expect(property(Claims(members)) == nil)
    }

    @Test(arguments: [(true, false), (false, true)])
    func `an address and a number are verified each for itself`(email: Bool, number: Bool) {
        let claims = Claims(["email_verified": .bool(email), "phone_number_verified": .bool(number)])
        #expect(claims.isEmailVerified == email && claims.isPhoneNumberVerified == number)
        #expect(Claims(["phone_number_verified": true]).isEmailVerified == nil)
        #expect(Claims(["email_verified": true]).isPhoneNumberVerified == nil)
        // A claim of the wrong type is none.
        #expect(Claims(["email_verified": "true"]).isEmailVerified == nil)
    }

    @Test func `the address and the time of the last change are what they are called`() {
        let claims = Claims(["address": ["country": "DE"], "updated_at": 1_750_000_001, "iat": 1])
        #expect(claims.address == ["country": "DE"] && claims.updatedAt == Date(timeIntervalSince1970: 1_750_000_001))
    }

    private struct Employee: Decodable, Equatable {
        struct Office: Decodable, Equatable { let floor: Int }

        let sub: String
        let groups: [String]
        let office: Office?
    }

    @Test func `claims decode into a type of the app's own`() throws {
        let claims = Claims(["sub": "1", "groups": ["staff"], "office": ["floor": 3], "name": "Jane"])
        #expect(
            try claims.decoded(as: Employee.self) == Employee(sub: "1", groups: ["staff"], office: .init(floor: 3)))
    }

    @Test(
        arguments: [
            (["sub": "1"], "found no 'groups'"), (["sub": "1", "groups": "secret"], "found 'groups' that is no Array"),
            (["sub": "1", "groups": ["a", 1]], "found 'groups.1' that is no String"),
            (["sub": "1", "groups": [], "office": [:]], "found no 'office.floor'"),
        ] as [(JSON.Object, String)])
    func `claims of another shape do not decode, and the error names the wrong one`(
        members: JSON.Object, found: String
    ) {
        let error = #expect(throws: AuthError.self) { try Claims(members).decoded(as: Employee.self) }
        #expect(error?.code == .invalidResponse)
        #expect(error?.message.contains(found) == true, "\(String(describing: error))")
        #expect(error?.message.contains("secret") == false)
    }

    @Test func `each property of an ID token is the claim of its name`() throws {
        let signer = try Signer()
        let token = try signer.token { claims in
            (claims["auth_time"], claims["acr"], claims["amr"]) = (1_749_999_000, "urn:a", ["pwd", "otp"])
        }
        let idToken = try Signer.verifier().verify(token, keys: signer.keys, expecting: .usual)
        #expect(idToken.authTime == Date(timeIntervalSince1970: 1_749_999_000))
        #expect(idToken.issuedAt == Signer.now && idToken.expiration == Signer.now + 600)
        #expect(idToken.authenticationContext == "urn:a" && idToken.authenticationMethods == ["pwd", "otp"])
        #expect(idToken.issuer == Signer.issuer && idToken.subject == "24400320" && idToken.audience == ["s6BhdRkqt3"])
        let without = try Signer.verifier().verify(signer.token(), keys: signer.keys, expecting: .usual)
        #expect(without.authTime == nil && without.authenticationContext == nil)
        #expect(without.authenticationMethods == nil)
    }
}

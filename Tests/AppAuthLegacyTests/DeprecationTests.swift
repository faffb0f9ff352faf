import AppAuthLegacy
import Foundation
import Testing

/// The grants that RFC 9700 advises against are deprecated; they exist for old servers.
struct DeprecationTests {
    @Test(arguments: [
        ("AppAuthLegacy/TokenGrant+Password.swift", "public static func password(", "RFC 9700 §2.4"),
        ("AppAuthLegacy/Dialect+OPro.swift", "public static func oPRO(email:", "RFC 9700 §2.4"),
        ("AppAuthLegacy/Dialect+Moltin.swift", "public static func moltinImplicit(", "RFC 9700 §2.5"),
        ("SevenPass/SevenPassGrants.swift", "public func signIn(login:", "RFC 9700 §2.4"),
    ])
    func `it is deprecated, with the section`(file: String, declaration: String, section: String) throws {
        let sources = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Sources").standardized
        let source = try String(contentsOf: sources.appending(path: file), encoding: .utf8)
        let before = try source[..<#require(source.firstRange(of: declaration)).lowerBound]
        // The attribute of this declaration, not of one above it.
        let attribute = try #require(before.components(separatedBy: "@available(").last)
        #expect(attribute.contains("*, deprecated") && attribute.contains(section) && !attribute.contains("func "))
    }

    @Test func `it does what it says`() throws {
        let caller: any DeprecatedGrants = GrantCaller()
        let password = Secret("red-slippers")
        #expect(
            try caller.password("ruby", password)
                == TokenGrant(
                    GrantType(rawValue: "password"), scope: ["api"],
                    parameters: ["username": Secret("ruby"), "password": password, "realm": Secret("shop")]))
        #expect(
            try caller.emailPassword("ruby@example.com", password)
                == TokenGrant(
                    GrantType(rawValue: "password"),
                    parameters: ["email": Secret("ruby@example.com"), "password": password]))
        #expect(try caller.implicit() == TokenGrant(GrantType(rawValue: "implicit")))
    }
}

/// Deprecated code may call deprecated code without a warning, and so may callers of this protocol.
protocol DeprecatedGrants {
    func password(_ name: String, _ password: Secret) throws -> TokenGrant
    func emailPassword(_ email: String, _ password: Secret) throws -> TokenGrant
    func implicit() throws -> TokenGrant
}

struct GrantCaller: DeprecatedGrants {
    @available(*, deprecated) func password(_ name: String, _ password: Secret) throws -> TokenGrant {
        try .password(username: name, password: password, scope: ["api"], parameters: ["realm": Secret("shop")])
    }

    @available(*, deprecated) func emailPassword(_ email: String, _ password: Secret) throws -> TokenGrant {
        try .oPRO(email: email, password: password)
    }

    @available(*, deprecated) func implicit() throws -> TokenGrant { try .moltinImplicit() }
}

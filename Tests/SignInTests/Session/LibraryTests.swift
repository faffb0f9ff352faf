import Foundation
import JOSE
import Testing

/// The libraries of the program.
@Suite(.timeLimit(.minutes(5)))
struct LibraryTests {
    @Test func `the program links neither Foundation nor libcurl`() async throws {
        try await withDesk { fixture in
            let outcome = try await fixture.start(["readelf", "-d", BuiltProducts.path("sign-in")], []).outcome()
            let needed = outcome.outputLines.filter { $0.contains("(NEEDED)") }
            #expect(needed.contains { $0.contains("libcrypto.so") }, "\(outcome)")
            for line in needed {
                #expect(!line.contains("libFoundation.so") && !line.contains("FoundationNetworking"))
                #expect(!line.contains("libcurl") && !line.contains("libsecret") && !line.contains("NIO"))
            }
        }
    }

    @Test func `libcurl is loaded for the first request, and not for a stored token`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn()
            let trace = ["LD_DEBUG": "files"]
            let token = try await fixture.run("token", with: trace)
            #expect(token.status == 0 && token.errors.contains("libcrypto") && !token.errors.contains("libcurl"))
            let refreshed = try await fixture.run("token", "--force-refresh", with: trace)
            #expect(refreshed.status == 0 && refreshed.errors.contains("libcurl.so.4"))
        }
    }
}

import Foundation
import Testing

/// The recipes of the article "Programs that cannot sign in", as they are written there.
@Suite(.timeLimit(.minutes(5)))
struct ProxyRecipeTests {
    @Test func `curl, a notebook and a sandbox reach the API`() async throws {
        try await ProxyDesk.run { desk in
            let (lines, commands) = (
                try desk.blocks(below: "Overview"), try desk.blocks(below: "A program in a sandbox")
            )
            let atPort = try await desk.serve(lines[0])
            let atSocket = try await desk.serve(commands[0])
            let cell = try desk.blocks(below: "A notebook")[0]
            for words in [["sh", "-c", lines[1]], ["python3", "-c", cell], ["sh", "-c", commands[1]]] {
                #expect(try await desk.output(words).contains("alice"), "\(words)")
            }
            _ = try await desk.fixture.run("logout", "--revoke-only", "--json", "--profile", "work").result()
            #expect(try await desk.output(["python3", "-c", cell]).contains("sign-in login --profile work"))
            for process in [atPort, atSocket] {
                process.send(SIGTERM)
                _ = try await process.outcome()
            }
        }
    }
}

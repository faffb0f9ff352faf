import AppAuth
import JOSE
import Testing

@testable import SignInTool

/// The advice that replaces the store's own hint.
@Suite struct DiscardHintTests {
    @Test func `only the hint of a damaged store becomes a command line`() {
        let line = ". To set it aside and go on: sign-in logout --local --discard --profile work"
        var damaged = AuthError(.store, .store, "the session is damaged: discard() sets it aside")
        #expect(damaged.message(for: ["token", "--profile", "work"]) == damaged.message)
        damaged.storeProblem = .damaged
        #expect(damaged.message(for: ["token", "--profile", "work"]) == "the session is damaged" + line)
        damaged.message = "the session is damaged: " + "discard() sets it aside; id #".foundText
        #expect(damaged.message(for: ["token", "--profile", "work"]) == damaged.message)
    }
}

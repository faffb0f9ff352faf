import Testing

/// Removing what is not there is done: apps clear their tokens before each sign-in.
struct RemovalTests {
    @Test(arguments: [
        ("ffs", "clear", "sign-in", "There were no tokens.", "Forgot the tokens."),
        ("moltin", "delete", "auth", "There was no token.", "Deleted the token."),
        ("opro", "sign-out", "sign-in", "No user was signed in.", "Signed out."),
    ])
    func `a removal from an empty store succeeds, and a sign-in follows it`(
        sample: String, remove: String, signIn: String, nothing: String, done: String
    ) async throws {
        try await CommandFixture.with { fixture in
            let empty = try await fixture.run(sample, [remove]).lines()
            #expect(empty.dropFirst() == [nothing])
            let lines = try await fixture.run(sample, [remove, signIn, remove, remove]).lines()
            #expect(lines.count == 5 && lines[1] == nothing && lines[3] == done && lines[4] == nothing, "\(lines)")
        }
    }
}

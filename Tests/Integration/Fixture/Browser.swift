import Foundation

/// Headless Chromium with a simulated user, who signs in and acts on every page.
///
/// One browser for as many sign-ins as a test makes: the second one finds the cookies of the first.
struct Browser {
    /// The value for `$BROWSER`.
    let program: String
    private let helper: HelperProcess

    enum Decision: String { case agrees, refuses }

    struct Visit: Decodable {
        /// The labels of the buttons that the user pressed, in order.
        let pressed: [String]
        /// The page of the app on which it ended.
        let title: String
        let text: String
    }

    private struct Started: Decodable {
        let browser: String
    }

    /// Runs `body` with a browser, and ends the browser.
    static func opened<Result>(
        at issuer: String, user: String, password: String, decision: Decision = .agrees,
        _ body: (Browser) async throws -> Result
    ) async throws -> Result {
        let helper = try HelperProcess(
            script: "browser.py", [issuer, user, password] + (decision == .refuses ? ["--refuse"] : []))
        return try await helper.beside {
            let started = try await helper.report(Started.self)
            return try await body(Browser(program: started.browser, helper: helper))
        }
    }

    /// Sends the user to a URL, and waits until they are through with it.
    @discardableResult
    func visit(_ url: String) async throws -> Visit {
        _ = try await Program(executable: URL(filePath: program)).run([url])
        return try await visited()
    }

    /// The user's visit to the URL that a program has opened.
    func visit(after outcome: Program.Outcome) async throws -> Visit {
        do {
            return try await visited()
        } catch {
            throw SetupFailure("\(error). The program said: \(outcome.output) \(outcome.errors)")
        }
    }

    private func visited() async throws -> Visit {
        _ = try await Program(executable: URL(filePath: program)).run(["report"])
        return try await helper.report()
    }
}

import JOSE
import AppAuthTestProvider
import Testing

/// A device that does everything right, so that a test can do one thing wrong.
struct DeviceFlow {
    let provider: LocalProvider
    static let grantType = "urn:ietf:params:oauth:grant-type:device_code"

    /// The provider's response to a device authorization request.
    struct Response {
        let document: JSON
        var deviceCode: String { document["device_code"]?.string ?? "" }
        var userCode: String { document["user_code"]?.string ?? "" }
        var page: String { document["verification_uri"]?.string ?? "" }
        var pageWithCode: String { document["verification_uri_complete"]?.string ?? "" }
    }

    func begin(_ scope: String = "openid profile offline_access") async throws -> Response {
        let response = try await Wire.post(
            provider.url(.deviceAuthorization), [("client_id", "demo"), ("scope", scope)])
        #expect(response.status == 200)
        return Response(document: try #require(response.json))
    }

    func poll(_ deviceCode: String, client: String = "demo") async throws -> Wire.Response {
        try await Wire.post(
            provider.url(.token),
            [("grant_type", Self.grantType), ("device_code", deviceCode), ("client_id", client)])
    }

    /// The error of a poll.
    func error(_ deviceCode: String) async throws -> String? {
        let response = try await poll(deviceCode)
        #expect(response.status == 400)
        return response.json?["error"]?.string
    }

    /// Goes from the page with the code in its address to a decision.
    @discardableResult
    func decide(
        _ action: String, _ response: Response, in browser: TestBrowser = TestBrowser()
    ) async throws -> String {
        _ = try await browser.open(response.pageWithCode)
        _ = try await browser.submit("continue", [("user_code", response.userCode)])
        if browser.page?.text.contains("type=\"password\"") == true { _ = try await browser.signIn() }
        _ = try await browser.submit(action)
        return try #require(browser.page).text
    }
}

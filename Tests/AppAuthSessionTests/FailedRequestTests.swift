import AppAuthProtocol
import AppAuthSession
import HTTPTypes
import JOSE
import AppAuthTestProvider
import TestFixtures
import Testing

/// `get` and `post` throw for each status that is no success. `send` returns it.
struct FailedRequestTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let name: String
        let fault: Fault
        let status: Int
        /// What follows the URL in the message.
        let message: String
        var code: AuthError.Code = .invalidResponse
        var server: String?
        var outcome: AuthError.Outcome = .refused
        var isTemporary = false
        var retryAfter: Int?

        var testDescription: String { name }
    }

    private static let challenge = #"Bearer error="insufficient_scope", error_description="Needs more" , scope="mail""#

    /// Made for each use: in a global, such values look like leaks to the address sanitizer.
    static var rows: [Row] {
        [
            Row(
                name: "a redirect", fault: .redirect(to: "https://elsewhere.example/"), status: 307,
                message: "returned 307. Redirects are never followed"),
            Row(
                name: "a code in the body, which is the API’s own", fault: .oauthError("access_denied"), status: 400,
                message: "returned 400: access_denied", server: "access_denied"),
            Row(
                name: "a challenge (RFC 6750 §3)", fault: .status(.forbidden, [.wwwAuthenticate: challenge], json: [:]),
                status: 403, message: "returned 403: insufficient_scope: 'Needs more'", code: "insufficient_scope",
                server: "insufficient_scope"),
            Row(
                name: "a second 401",
                fault: .status(.unauthorized, [.wwwAuthenticate: #"Bearer error="invalid_token""#]), status: 401,
                message: "returned 401: invalid_token", code: "invalid_token", server: "invalid_token"),
            Row(
                name: "a message", fault: .status(.notFound, json: ["message": "No such user"]), status: 404,
                message: "returned 404: 'No such user'"),
            Row(
                name: "a message of an error object",
                fault: .status(.unprocessableContent, json: ["error": ["code": 7, "message": "Too long"]]), status: 422,
                message: "returned 422: 'Too long'"),
            Row(
                name: "a sentence in place of a code", fault: .status(.notFound, json: ["error": "Not Found"]),
                status: 404,
                message: "returned 404: 'Not Found'"),
            Row(
                name: "problem details (RFC 9457 §3.1)",
                fault: .status(.conflict, json: ["title": "Conflict", "detail": "The name is taken", "status": 409]),
                status: 409, message: "returned 409: 'The name is taken'"),
            Row(
                name: "a limit of the rate", fault: .tooManyRequests(retryAfter: 7), status: 429,
                message: "returned 429: '429 Too Many Requests'", isTemporary: true, retryAfter: 7),
            Row(
                name: "a failure of the server", fault: .status(.internalServerError, json: "page"), status: 500,
                message: "returned 500", outcome: .perhapsProcessed, isTemporary: true),
            Row(
                name: "a page",
                fault: .respond(Reply(.badGateway, type: "text/html", "<!doctype html><p>Bad gateway")), status: 502,
                message: "returned 502", outcome: .perhapsProcessed, isTemporary: true),
        ]
    }

    @Test(arguments: rows)
    func `get and post throw for another status than 2xx, and send returns it`(row: Row) async throws {
        try await World.run { world in
            let state = try await world.signIn()
            let url = world.provider.url(.api)
            world.provider.fault(row.fault, at: .api, times: nil)
            let get = try #require(await authError { try await state.get(url + "?secret=hunter2") })
            let post = try #require(await authError { try await state.post(url, json: ["a": 1]) })
            for error in [get, post] {
                #expect(error.message == "the API at \(url) \(row.message)")
                #expect(error.code == row.code && error.stage == .resource && error.httpStatus == row.status)
                #expect(error.outcome == row.outcome && error.isTemporary == row.isTemporary)
                #expect(error.retryAfter == row.retryAfter && !error.needsSignIn)
                #expect(error.response?.status.code == row.status)
                #expect(error.server?.error == row.server)
            }
            let sent = try await state.send(TransportRequest(.get, url))
            #expect(sent.status.code == row.status)
            // It has no URL of its own.
            let decoded = try #require(await authError { try sent.decoded(as: JSON.self) })
            #expect(decoded.message == "the API \(row.message)" && decoded.code == row.code)
        }
    }

    @Test func `the error of an API is one line without the token, and its words stay in their quotes`() async throws {
        try await World.run { world in
            let state = try await world.signIn()
            let token = try await state.freshAccessToken().value.reveal()
            let words = "a\u{202E}b'\"; rm -rf ~ \(token) " + token.map { "%" + hexadecimal($0) }.joined() + "\nc"
            for fault in [
                Fault.status(.badRequest, json: ["message": .string(words)]),
                .respond(Reply(.badRequest, type: "text/plain", words)),
                .status(.badRequest, json: ["error": .string(words)]),
                .status(.badRequest, json: ["error": "refused", "error_description": .string(words)]),
            ] {
                world.provider.fault(fault, at: .api)
                let error = try #require(await authError { try await state.get(world.provider.url(.api)) })
                let text = error.message
                #expect(text.contains("[redacted]") && !text.contains(token) && !text.contains("%"), "\(text)")
                #expect(!text.contains("\n") && !text.contains("\u{202E}") && text.count < 1000, "\(text)")
                #expect(text.count { $0 == text.last } == 2 && "\"'".contains(text.suffix(1)), "\(text)")
            }
        }
    }

    @Test(arguments: [HTTPResponse.Status.ok, .created, .noContent, .init(code: 299)])
    func `each success is returned`(status: HTTPResponse.Status) async throws {
        try await World.run { world in
            let state = try await world.signIn()
            world.provider.fault(.respond(Reply(status)), at: .api, times: nil)
            #expect(try await state.get(world.provider.url(.api)).status == status)
            #expect(try await state.post(world.provider.url(.api), json: [1]).status == status)
        }
    }

    private func hexadecimal(_ character: Character) -> String {
        let digits = String(character.asciiValue ?? 0, radix: 16, uppercase: true)
        return digits.count == 1 ? "0" + digits : digits
    }
}

import AppAuth
import AppAuthCore
import HTTPTypes
import Testing

@Suite(.timeLimit(.minutes(1)))
struct CurlTransportTests {
    let transport = CurlTransport(.init(proxy: .none))

    @Test func `an answer has its status, its fields and its body`() async throws {
        let server = try RawServer { connection in
            try connection.readRequest()
            try connection.reply("404 Whatever", ["X-One: 1"], body: "not here")
        }
        let answer = try await transport.send(server.get("/a?b=c"))
        #expect(answer.response.status.code == 404)
        #expect(answer.response.headerFields[.init("X-One")!] == "1")
        #expect(String(decoding: answer.body, as: UTF8.self) == "not here")
        #expect(server.requests.first?.line == "GET /a?b=c HTTP/1.1")
    }
}

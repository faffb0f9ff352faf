import HTTPTypes
import JOSE
import AppAuthTestProvider
import Testing

/// The common behaviour of all doubles' server.
@Suite struct DoubleServerTests {
    private func sbanken(_ change: (inout DoubleOptions) -> Void) async throws -> Sbanken {
        var configuration = Sbanken.Configuration()
        change(&configuration.options)
        return try await Sbanken.start(configuration)
    }

    @Test func `a page on another host name gets nothing`() async throws {
        try await withDouble(sbanken { _ in }) { bank in
            let port = try #require(bank.baseURL.split(separator: ":").last.flatMap { Int($0) })
            for (host, status) in [
                ("127.0.0.1:\(port)", 401), ("LOCALHOST:\(port)", 401), ("evil.example:\(port)", 421),
            ] {
                let head = "GET /exec.bank/api/v1/Accounts HTTP/1.1\r\nHost: \(host)\r\nConnection: close\r\n\r\n"
                #expect(try await Wire.exchange(Array(head.utf8), port: port).status == status)
            }
        }
    }

    @Test(arguments: [("::1", "http://[::1]:"), ("localhost", "http://localhost:"), ("127.0.0.1", "http://127.0.0.1:")])
    func `it serves on any loopback address`(host: String, prefix: String) async throws {
        try await withDouble(sbanken { $0.host = host }) { bank in
            #expect(bank.baseURL.hasPrefix(prefix))
            let response = try await Wire.send("GET", bank.baseURL + "/exec.bank/api/v1/Accounts")
            #expect(response.status == 401)
        }
    }

    @Test func `another address and a port that is taken are refused`() async throws {
        await #expect(throws: ProviderError.self) { try await sbanken { $0.host = "0.0.0.0" } }
        try await withDouble(sbanken { _ in }) { bank in
            let port = try #require(bank.baseURL.split(separator: ":").last.flatMap { Int($0) })
            let error = await #expect(throws: ProviderError.self) { try await sbanken { $0.port = port } }
            #expect("\(error as Any)".contains("port \(port): another program uses it"))
        }
    }

    @Test func `requests can be held, and counted`() async throws {
        try await withDouble(sbanken { _ in }) { bank in
            let hold = bank.hold(.accounts)
            async let response = Wire.send("GET", bank.baseURL + "/exec.bank/api/v1/Accounts")
            try await hold.arrived()
            try await bank.requests(1, at: .accounts)
            hold.release()
            #expect(try await response.status == 401)
            #expect(bank.log(.accounts).first?.status == 401)
        }
    }

    @Test func `a log that is off keeps nothing and still counts`() async throws {
        try await withDouble(sbanken { $0.keepsLog = false }) { bank in
            let response = try await Wire.send("GET", bank.baseURL + "/exec.bank/api/v1/Accounts")
            #expect(response.status == 401)
            #expect(bank.log.isEmpty)
            #expect(bank.count(.accounts) == 1)
        }
    }

    @Test func `a stopped server accepts no connection`() async throws {
        let bank = try await sbanken { _ in }
        await bank.stop()
        await #expect(throws: (any Error).self) { try await Wire.send("GET", bank.baseURL + "/") }
    }
}

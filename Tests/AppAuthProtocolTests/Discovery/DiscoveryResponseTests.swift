import AppAuthProtocol
import HTTPTypes
import JOSE
import AppAuthTestProvider
import TestFixtures
import Testing

/// Responses that a server may send instead of its metadata.
struct DiscoveryResponseTests {
    @Test(arguments: [301, 302, 303, 307, 308])
    func `a redirect is not followed`(status: Int) async throws {
        try await World.run { world in
            let elsewhere = world.provider.url(.oauthMetadata)
            world.provider.fault(
                .status(.init(code: status), [.location: elsewhere]), at: .openIDConfiguration)
            world.provider.fault(.status(.notFound), at: .oauthMetadata)
            let error = try #require(await authError { try await world.metadata() })
            #expect(error.code == .invalidResponse)
            #expect(error.httpStatus == status)
            #expect(error.message.contains("(\(status), redirects are never followed, here to '\(elsewhere)')"))
            #expect(world.provider.log.count == 2)
        }
    }

    @Test(
        arguments: [
            (Fault.status(.internalServerError), 500, nil), (.unavailable(retryAfter: 120), 503, 120),
            (.tooManyRequests(retryAfter: 7), 429, 7),
        ] as [(Fault, Int, Int?)])
    func `a server in trouble can be asked again, unless another location has the document`(
        fault: Fault, status: Int, retryAfter: Int?
    ) async throws {
        try await World.run { world in
            world.provider.fault(fault, at: .openIDConfiguration, times: 2)
            world.provider.fault(.status(.notFound), at: .oauthMetadata)
            let error = try #require(await authError { try await world.metadata() })
            #expect(error.code == .invalidResponse)
            #expect(error.isTemporary)
            #expect(error.httpStatus == status)
            #expect(error.retryAfter == retryAfter)
            #expect(try await world.metadata()[.token] != nil)
        }
    }

    @Test(arguments: [
        ("", false), ("<!doctype html><title>Welcome</title>", false), ("[ISSUER]", false), ("null", false),
        (#"{"issuer":"ISSUER""#, false), (#"{"issuer":"ISSUER"}{}"#, false), (#"{"issuer":"ISSUER",}"#, false),
        ("\u{FEFF}{\"issuer\":\"ISSUER\"}", true), (#"{"issuer":"ISSUER","issuer":"ISSUER/"}"#, false),
        (#"{"issuer":"ISSUER","a":1,"a":1}"#, true), (#"{"issuer":"ISSUER","a":{"b":1,"b":2}}"#, false),
        (#"{"issuer":"ISSUER","\ud800":"a"}"#, false), (#"{"issuer":"ISSUER","a":"# + nested(64) + "}", false),
        (#"{"issuer":"ISSUER","a":"# + nested(63) + "}", true), (#" {"issuer":"ISSUER","a":1,"b":1} "#, true),
        (#"{"issuer":"ISSUER","a":"\ud800"}"#, true),
    ])
    func `a response is one strict JSON object, or refused (RFC 8259, RFC 8725 §2.3)`(
        body: String, isTaken: Bool
    ) async throws {
        try await World.run { world in
            let text = body.replacing("ISSUER", with: world.provider.issuer)
            for location in [Endpoint.openIDConfiguration, .oauthMetadata] {
                world.provider.fault(.respond(Reply(.ok, type: "application/json", text)), at: location)
            }
            let error = await authError { try await world.metadata() }
            #expect((error == nil) == isTaken)
            #expect(isTaken || error?.code == .invalidResponse || error?.code == .invalidMetadata)
            #expect(error?.isTemporary != true)
        }
    }

    @Test func `bytes that are not UTF-8 are refused`() async throws {
        try await World.run { world in
            let start = Array(#"{"issuer":"\#(world.provider.issuer)","name":""#.utf8)
            for (name, isTaken) in [([0xC3, 0xA9], true), ([0xE9], false), ([0xC0, 0xAF], false)] as [([UInt8], Bool)] {
                let reply = Reply(.ok, [.contentType: "application/json"], body: start + name + Array("\"}".utf8))
                world.provider.clearFaults()
                for location in [Endpoint.openIDConfiguration, .oauthMetadata] {
                    world.provider.fault(.respond(reply), at: location)
                }
                #expect((await authError { try await world.metadata() } == nil) == isTaken)
            }
        }
    }

    @Test func `a document may have 512 KiB and no more`() async throws {
        try await World.run { world in
            world.provider.fault(.oversize(bytes: 512 << 10), at: .openIDConfiguration)
            let metadata = try await world.metadata()
            #expect(metadata.issuer.string == world.provider.issuer)
            for fault in [Fault.oversize(bytes: (512 << 10) + 1), .endless] {
                for location in [Endpoint.openIDConfiguration, .oauthMetadata] {
                    world.provider.fault(fault, at: location)
                }
                #expect(await authError { try await world.metadata() }?.code == .invalidResponse)
            }
        }
    }

    @Test(arguments: [Fault.cutOff(after: 0), .cutOff(after: 300), .reset(after: 300)])
    func `a connection that breaks is an error of the transport, which can be tried again`(fault: Fault) async throws {
        try await World.run { world in
            world.provider.fault(fault, at: .openIDConfiguration)
            let error = try #require(await authError { try await world.metadata() })
            #expect(error.code == .transport)
            #expect(error.stage == .discovery)
            #expect(error.isTemporary)
        }
    }

    @Test func `an issuer at which no server listens is an error of the transport`() async throws {
        try await World.run { world in
            await world.provider.stop()
            let error = try #require(await authError { try await world.metadata() })
            #expect(error.code == .transport)
            #expect(error.outcome == .notSent)
        }
    }
}

private func nested(_ depth: Int) -> String {
    String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
}

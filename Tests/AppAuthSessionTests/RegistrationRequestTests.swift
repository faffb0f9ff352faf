import AppAuthProtocol
import AppAuthSession
import AppAuthTestProvider
import Foundation
import HTTPTypes
import JOSE
import TestFixtures
import Testing

/// The requests by which a client manages its registration (RFC 7592), without a session.
struct RegistrationRequestTests {
    @Test func `an update sends all the metadata, the client id, and nothing that the provider gave out`()
        async throws
    {
        try await World.run { world in
            let registration = try await world.registerWithSecret()
            _ = try await registration.update(in: world.environment) { $0["contacts"] = ["jane@example.org"] }
            let sent = try #require(world.provider.log(.clientConfiguration).first)
            let document = try #require(try JSON(parsing: sent.body).object)
            var expected = registration.metadata.members
            expected["contacts"] = ["jane@example.org"]
            expected["client_id"] = .string(registration.clientID)
            #expect(document == expected && sent.method == .put)
        }
    }

    @Test func `a member that is removed is deleted at the provider`() async throws {
        try await World.run { world in
            let registration = try await world.register()
            let changed = try await registration.update(in: world.environment) { $0.clientName = nil }
            #expect(changed.metadata.clientName == nil && changed.clientID == registration.clientID)
        }
    }

    @Test func `a response about another client is refused`() async throws {
        try await World.run { world in
            let registration = try await world.register()
            world.provider.fault(.editDocument { $0["client_id"] = "another" }, at: .clientConfiguration)
            let error = await authError { try await registration.read(in: world.environment) }
            #expect(error?.code == .invalidResponse)
            #expect(error?.message.contains("'client_id' of this client") == true)
        }
    }

    @Test func `malformed members of a response leave the old values`() async throws {
        try await World.run { world in
            let registration = try await world.register()
            world.provider.fault(.editDocument { $0["registration_client_uri"] = "x" }, at: .clientConfiguration)
            let read = try await registration.read(in: world.environment)
            #expect(read.configurationEndpoint == registration.configurationEndpoint)
            #expect(read.accessToken != registration.accessToken)
            _ = try await read.read(in: world.environment)
        }
    }

    @Test func `a response that repeats neither token nor endpoint leaves them`() async throws {
        var configuration = LocalProvider.Configuration.demo
        configuration.registration?.rotatesAccessTokens = false
        try await World.run(configuration) { world in
            let registration = try await world.registerWithSecret()
            world.provider.fault(
                .editDocument { document in
                    for name in [
                        "registration_access_token", "registration_client_uri", "client_secret",
                        "client_secret_expires_at",
                    ] { document[name] = nil }
                }, at: .clientConfiguration)
            let read = try await registration.read(in: world.environment)
            #expect(read.accessToken == registration.accessToken && read.clientSecret == registration.clientSecret)
            #expect(read.configurationEndpoint == registration.configurationEndpoint)
        }
    }

    @Test(arguments: [false, true])
    func `the expiry of a secret is kept only while the secret is the same`(isNew: Bool) async throws {
        var configuration = LocalProvider.Configuration.demo
        configuration.registration?.secretLifetime = 3600
        try await World.run(configuration) { world in
            let registration = try await world.registerWithSecret()
            let end = try #require(registration.clientSecretExpiresAt)
            world.provider.fault(
                .editDocument { document in
                    document["client_secret_expires_at"] = nil
                    if isNew { document["client_secret"] = "another" }
                }, at: .clientConfiguration)
            let read = try await registration.read(in: world.environment)
            #expect(read.clientSecretExpiresAt == (isNew ? nil : end))
        }
    }

    @Test func `a client that was registered by hand has nothing to manage`() async throws {
        try await World.run { world in
            let state = try await world.signIn()
            #expect(await authError { try await state.registration() }?.code == .invalidConfiguration)
            world.provider.fault(
                .editDocument {
                    $0["registration_access_token"] = nil
                    $0["registration_client_uri"] = nil
                }, at: .clientRegistration)
            let unmanaged = try await world.register()
            #expect(await authError { try await unmanaged.read(in: world.environment) }?.code == .invalidConfiguration)
            #expect(world.provider.count(.clientConfiguration) == 0)
        }
    }
}

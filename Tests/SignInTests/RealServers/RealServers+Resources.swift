import AppAuth
import AppAuthProtocol
import AppAuthTestProvider
import Foundation
import HTTPTypes
import JOSE
import TestFixtures
import Testing

extension RealServer {
    /// RFC 9728, as MCP servers have it.
    static let resources: [RealServer] = [
        rootOnly, parentResources, foreignResources, unusableLocations, lists, undescribed, rootSlash, pathSlash,
        postChallenges, noPost,
    ].flatMap(\.self)

    private static let rootOnly: [RealServer] =
        ([
            ("Expo", "404", SimpleResponse.status("404 Not Found")), ("Retool", "401", .status("401 Unauthorized")),
            ("a server with a page for applications", "an HTML page", .html),
        ] as [(String, String, SimpleResponse)]).map { server, found, response in
            RealServer(server, 2025, "the metadata are only at the root; at the path is \(found)", "they are used") {
                let server = try WrittenServer()
                (server["/mcp"], server[WrittenServer.resource + "/mcp"]) = (.challenge(""), response)
                let url = server.origin + "/mcp"
                server[WrittenServer.resource] = server.description(url, of: ["https://as.example"])
                let found = try await Discovery.onLoopback.protectedResource(at: url)
                #expect(found.url.string == url && found.authorizationServers == ["https://as.example"])
                // RFC 9728 §3.3: they are about this resource.
                server[WrittenServer.resource] = server.description("https://r.example/mcp", of: ["https://as.example"])
                let error = await authError { try await Discovery.onLoopback.protectedResource(at: url) }
                #expect(error?.code == .resourceMismatch)
            }
        }

    private static let parentResources: [RealServer] =
        ([
            ("Slack", "", "/mcp"), ("Slack", "/", "/mcp"), ("Slack", "/a", "/a/b/c"), ("GitHub", "/mcp/", "/mcp"),
            ("GitHub", "/mcp", "/mcp/"), ("a resource for each workspace", "/mcp", "/mcp?workspace=1"),
        ] as [(String, String, String)]).map { server, named, path in
            RealServer(
                server, 2026, "the metadata of \(path) name the resource '\(named)' of the origin",
                "accepted; the token is for the named one"
            ) {
                let server = try WrittenServer()
                server[path] = .challenge("")
                let resource = server.origin + named
                server[WrittenServer.resource + path] = server.description(resource, of: ["https://as.example"])
                let found = try await Discovery.onLoopback.protectedResource(at: server.origin + path)
                #expect(found.url.string == resource)
            }
        }

    private static let foreignResources: [RealServer] =
        ([
            ("/mcp/other", "/mcp"), ("/mc", "/mcp"), ("/mcp/b", "/mcp/a"), ("?a=b", "/mcp"), ("/", "/mcp/%2e%2e/x"),
            ("https://evil.example", "/mcp"), ("https://evil.example/mcp", "/mcp"),
        ] as [(String, String)]).map { named, path in
            RealServer("any", 2026, "the metadata of \(path) name the resource '\(named)'", "refused") {
                let server = try WrittenServer()
                server[path] = .challenge("")
                server[WrittenServer.resource + path] = server.description(
                    named.hasPrefix("https") ? named : server.origin + named, of: ["https://as.example"])
                let error = await authError {
                    try await Discovery.onLoopback.protectedResource(at: server.origin + path)
                }
                #expect(error?.code == .resourceMismatch)
            }
        }

    private static let unusableLocations: [RealServer] =
        ([
            ("relative", #"resource_metadata="/meta""#), ("http", #"resource_metadata="http://r.example/meta""#),
            ("single-quoted", "resource_metadata='ORIGIN/meta'"),
            ("given twice", #"resource_metadata="ORIGIN/meta", resource_metadata="ORIGIN/other""#),
            ("404", #"resource_metadata="ORIGIN/missing""#), ("empty", #"resource_metadata="""#),
            ("about another resource", #"resource_metadata="ORIGIN/other""#),
            ("that of no object", #"resource_metadata="ORIGIN/list""#),
        ] as [(String, String)]).map { what, parameters in
            RealServer("MCP servers", 2025, "the location in the challenge is \(what)", "the well-known one is used") {
                let server = try WrittenServer()
                server["/mcp"] = .challenge(parameters.replacing("ORIGIN", with: server.origin))
                let url = server.origin + "/mcp"
                server["/meta"] = server.description(url, of: ["https://evil.example"])
                server["/other"] = server.description("https://other.example", of: ["https://evil.example"])
                server["/list"] = .json([["resource": .string(url)]])
                server[WrittenServer.resource + "/mcp"] = server.description(url, of: ["https://as.example"])
                let found = try await Discovery.onLoopback.protectedResource(at: url)
                #expect(found.authorizationServers == ["https://as.example"])
            }
        }

    private static let lists: [RealServer] =
        ([
            ("scopes_supported is a string", "scopes_supported", "a b"),
            ("authorization_servers is a string", "authorization_servers", "ISSUER"),
            ("one of the authorization_servers is http", "authorization_servers", ["http://as.example", "ISSUER"]),
        ] as [(String, String, JSON)]).map { what, name, value in
            RealServer("a server whose metadata are written by hand", 2026, "of a resource: \(what)", "login succeeds")
            {
                try await withResource { fixture, server, url in
                    let issuer = JSON.string(fixture.issuer)
                    func filled(_ value: JSON) -> JSON {
                        value == "ISSUER" ? issuer : value.array.map { .array($0.map(filled)) } ?? value
                    }
                    var members: JSON.Object = ["resource": .string(url), "authorization_servers": [issuer]]
                    members[name] = filled(value)
                    server["/mcp"] = .challenge(#"scope="profile""#)
                    server[WrittenServer.resource + "/mcp"] = .json(.object(members))
                    _ = try await fixture.run("login", "--json", "--resource", url).result()
                    // Such a server alone is none.
                    members["authorization_servers"] = ["http://as.example"]
                    server[WrittenServer.resource + "/mcp"] = .json(.object(members))
                    let message = try await fixture.run("login", "--json", "--resource", url)
                        .failure(1, "invalid_metadata")
                    #expect(message.contains("no authorization server that can be used"), "\(message)")
                    members["authorization_servers"] = nil
                    server[WrittenServer.resource + "/mcp"] = .json(.object(members))
                    let none = try await fixture.run("login", "--json", "--resource", url)
                        .failure(1, "invalid_metadata")
                    #expect(none.hasSuffix("use --issuer to name it"), "\(none)")
                    _ = try await fixture.run("login", "--json", "--resource", url, "--issuer", fixture.issuer).result()
                }
            }
        }

    private static let undescribed: [RealServer] = [
        RealServer(
            "a resource at its own server", 2026, "the metadata list no authorization server",
            "the origin is the authorization server"
        ) {
            let server = try WrittenServer()
            let url = server.origin + "/mcp"
            (server["/mcp"], server[WrittenServer.openID]) = (.challenge(""), server.metadata())
            for list in [nil, []] as [JSON?] {
                var members: JSON.Object = ["resource": .string(url)]
                members["authorization_servers"] = list
                server[WrittenServer.resource + "/mcp"] = .json(.object(members))
                let discovery = Discovery.onLoopback
                let found = try await discovery.metadata(for: discovery.protectedResource(at: url))
                #expect(found.issuer.string == server.origin && found.resource?.string == url)
            }
            server[WrittenServer.openID] = nil
            let discovery = Discovery.onLoopback
            let resource = try await discovery.protectedResource(at: url)
            let error = await authError { try await discovery.metadata(for: resource) }
            #expect(error?.message.contains("lists no authorization server") == true)
        },
        RealServer(
            "any", 2026, "a location in the challenge that is not well-known names a parent of the URL",
            "not trusted: whoever owns the path does not speak for its parent"
        ) {
            let server = try WrittenServer()
            server["/a/mcp"] = .challenge(#"resource_metadata="\#(server.origin)/a/meta""#)
            server["/a/meta"] = server.description(server.origin, of: ["https://evil.example"])
            let url = server.origin + "/a/mcp"
            let error = await authError { try await Discovery.onLoopback.protectedResource(at: url) }
            #expect(error?.code == .resourceMismatch)
            server[WrittenServer.resource + "/a/mcp"] = server.description(url, of: ["https://as.example"])
            let found = try await Discovery.onLoopback.protectedResource(at: url)
            #expect(found.authorizationServers == ["https://as.example"])
        },
        RealServer("MCP 2025-03-26", 2025, "no RFC 9728 metadata at all", "the origin is the authorization server") {
            let server = try WrittenServer()
            server["/mcp"] = .challenge(#"scope="a""#)
            server[WrittenServer.oauth] = server.metadata()
            let found = try await Discovery.onLoopback.protectedResource(at: server.origin + "/mcp")
            #expect(found.authorizationServers.map(\.string) == [server.origin] && found.scope == ["a"])
            #expect(found.url.string == server.origin + "/mcp")
        },
        RealServer("Atlassian", 2025, "no RFC 9728 metadata; the origin's issuer has another name", "--issuer works") {
            try await withResource { fixture, server, url in
                server[WrittenServer.resource + "/mcp"] = nil
                server[WrittenServer.oauth] = server.metadata(fixture.issuer)
                let error = try await fixture.run("login", "--json", "--resource", url).failure(1, "invalid_response")
                #expect(error.contains("--issuer") && error.contains(fixture.issuer), "\(error)")
                let session = try await fixture.run(
                    "login", "--json", "--resource", url, "--issuer", fixture.issuer, "--scope", "profile"
                ).result()
                #expect(session["issuer"]?.string == fixture.issuer)
                #expect(fixture.provider.log(.authorization).first?.query.values("resource") == [url])
            }
        },
        RealServer("any", 2026, "the metadata of the resource answer 503", "try again later, at no other server") {
            let server = try WrittenServer()
            (server["/mcp"], server[WrittenServer.oauth]) = (.challenge(""), server.metadata())
            server[WrittenServer.resource + "/mcp"] = .status("503 Service Unavailable")
            let error = await authError {
                try await Discovery.onLoopback.protectedResource(at: server.origin + "/mcp")
            }
            #expect(error?.isTemporary == true && !server.requests.contains { $0.hasSuffix(WrittenServer.oauth) })
        },
    ]

    private static let rootSlash: [RealServer] =
        ([
            ("Google", "/", ""), ("JumpCloud", "", "/"),
        ] as [(String, String, String)]).map { server, listed, named in
            RealServer(
                server, 2025, "'\(listed)' after the host of the authorization server, '\(named)' after its issuer",
                "the same server (RFC 3986 §6.2.3)"
            ) {
                let server = try WrittenServer()
                (server["/mcp"], server[WrittenServer.oauth]) = (.challenge(""), server.metadata(server.origin + named))
                let url = server.origin + "/mcp"
                server[WrittenServer.resource + "/mcp"] = server.description(url, of: [server.origin + listed])
                let discovery = Discovery.onLoopback
                let resource = try await discovery.protectedResource(at: url)
                #expect(try await discovery.metadata(for: resource).issuer.string == server.origin + named)
                let chosen = try await discovery.metadata(for: resource, choosing: Issuer(server.origin + named))
                #expect(chosen.issuer.string == server.origin + named)
                server[WrittenServer.oauth] = server.metadata("https://other.example" + named)
                let error = await authError { try await Discovery.onLoopback.metadata(for: resource) }
                #expect(error?.code == .issuerMismatch)
            }
        }

    private static let pathSlash: [RealServer] = [
        RealServer("any", 2025, "a slash after the path of the issuer", "refused") {
            let server = try WrittenServer()
            server["/mcp"] = .challenge("")
            server["/a" + WrittenServer.openID] = server.metadata(server.origin + "/a/")
            let url = server.origin + "/mcp"
            server[WrittenServer.resource + "/mcp"] = server.description(url, of: [server.origin + "/a"])
            let discovery = Discovery.onLoopback
            let resource = try await discovery.protectedResource(at: url)
            #expect(await authError { try await discovery.metadata(for: resource) }?.code == .issuerMismatch)
        }
    ]

    private static let postChallenges: [RealServer] =
        ([
            ("405 Method Not Allowed", [("Allow", "POST")]), ("406 Not Acceptable", []), ("400 Bad Request", []),
            ("302 Found", [("Location", "/docs")]), ("501 Not Implemented", []),
        ] as [(String, [(String, String)])]).map { status, headers in
            RealServer(
                "MCP servers over POST", 2025, "GET is \(status.prefix(3)); the challenge comes only for POST",
                "login asks with an empty initialize"
            ) {
                try await withResource { fixture, server, url in
                    server["/mcp"] = .status(status, headers)
                    server["POST /mcp"] = .challenge(#"resource_metadata="\#(server.origin)/meta", scope="profile""#)
                    server[WrittenServer.resource + "/mcp"] = nil
                    server["/meta"] = server.description(url, of: [fixture.issuer])
                    let session = try await fixture.run("login", "--json", "--resource", url).result()
                    #expect(session["scope"]?.string?.contains("profile") == true)
                    let bodies = server.bodies.filter { !$0.isEmpty }
                    #expect(bodies.count == 1 && bodies[0].contains(#""method":"initialize""#), "\(bodies)")
                    #expect(server.accepted.contains { $0.contains("text/event-stream") })
                }
            }
        }

    private static let noPost: [RealServer] = [
        RealServer(
            "Slack", 2026, "the metadata of /mcp name the origin",
            "login requests a token for the origin, and the line that signs in again asks /mcp"
        ) {
            try await withResource { fixture, server, url in
                server[WrittenServer.resource + "/mcp"] = server.description(server.origin, of: [fixture.issuer])
                _ = try await fixture.run("login", "--json", "--resource", url, "--scope", "offline_access").result()
                let requests = fixture.provider.log(.authorization) + fixture.provider.log(.token)
                #expect(
                    requests.allSatisfy {
                        ($0.query.values("resource") + $0.form.values("resource")) == [server.origin]
                    })
                fixture.provider.fault(.oauthError("invalid_grant"), at: .token)
                let message = try await fixture.run("token", "--force-refresh", "--json").failure(1, "sign_in_required")
                let line = try #require(message.components(separatedBy: " with: ").last)
                #expect(line.contains("--resource \(url) ") || line.hasSuffix("--resource \(url)"), "\(message)")
                _ = try await fixture.start(["sh", "-c", "exec \(line) --json"], []).outcome().result()
            }
        },
        RealServer("any", 2026, "GET is 200", "nothing is posted") {
            try await withResource { fixture, server, url in
                server["/mcp"] = .html
                _ = try await fixture.run("login", "--json", "--resource", url, "--scope", "profile").result()
                #expect(!server.requests.contains { $0.hasPrefix("POST") })
            }
        },
    ]
}

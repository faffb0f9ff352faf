import AppAuth
import AppAuthProtocol
import AppAuthTestProvider
import Foundation
import HTTPTypes
import JOSE
import TestFixtures
import Testing

extension RealServer {
    /// What is sent to the authorization endpoint.
    static let requests: [RealServer] =
        [endpointParameters, equalParameters, ownedParameters, prompts, pkce, pushed, [emptySecret]].flatMap(\.self)

    private static let emptySecret = RealServer(
        "Reddit, Cloud Foundry", 2022, "a public client has an empty secret", "--client-auth basic sends it"
    ) {
        try await withDesk { fixture in
            let server = try WrittenServer()
            server["/token"] = .json(["access_token": "a", "token_type": "Bearer", "expires_in": 60])
            let line = [
                "client-credentials", "--token-endpoint", server.origin + "/token", "--client-id", "cf", "--json",
                "--client-secret-file", "/dev/null",
            ]
            let token = try await fixture.start(line + ["--client-auth", "basic"]).outcome().result()
            #expect(token["access_token"] == "a")
            #expect(server.credentials == ["Basic " + Data("cf:".utf8).base64EncodedString()])
            // A file that is empty by mistake is no secret.
            let message = try await fixture.start(line).outcome().failure(1, "invalid_configuration")
            #expect(message == "--client-secret-file: /dev/null: expected a secret, found an empty file")
            #expect(server.requests.count == 1)
        }
    }

    /// The query of the endpoint, the options of the sign-in, and the `prompt` of the request.
    private static let endpointParameters: [RealServer] =
        ([
            ("select_account", [], ["select_account"], false), ("login", ["--prompt", "login"], ["login"], false),
            ("select_account", ["--prompt", "login"], ["login"], true),
            ("select_account", ["--param", "prompt=create"], ["create"], true),
            ("consent", [], ["consent"], false),
        ] as [(String, [String], [String], Bool)]).map { prompt, options, requested, isSaid in
            RealServer(
                "Microsoft 365", 2025,
                "authorization_endpoint has ?prompt=\(prompt)"
                    + (options.isEmpty ? "" : ", the user says \(options.shellLine)"),
                "the request has prompt=\(requested)"
            ) {
                try await withDesk { fixture in
                    let endpoint = fixture.provider.url(.authorization)
                    fixture.provider.fault(
                        .editDocument { $0["authorization_endpoint"] = .string("\(endpoint)?a=b&prompt=\(prompt)") },
                        at: .openIDConfiguration, times: nil)
                    let outcome = try await fixture.start(fixture.loginArguments(options)).outcome()
                    let query = try #require(fixture.provider.log(.authorization).first?.query, "\(outcome)")
                    #expect(query.values("prompt") == requested && query["a"] == "b")
                    let note = "The provider’s own address has 'prompt=\(prompt)'"
                    #expect(outcome.errors.contains(note) == isSaid, "\(outcome)")
                }
            }
        }

    private static let equalParameters: [RealServer] =
        ["response_type=code", "code_challenge_method=S256", "response_mode=query"].map { query in
            RealServer(
                "a ready-made URL", 2026, "authorization_endpoint has ?\(query), as the request has", "it is sent once"
            ) {
                try await withDesk { fixture in
                    let endpoint = fixture.provider.url(.authorization)
                    fixture.provider.fault(
                        .editDocument { $0["authorization_endpoint"] = .string("\(endpoint)?\(query)&a=b") },
                        at: .openIDConfiguration, times: nil)
                    _ = try await fixture.login().result()
                    let sent = try #require(fixture.provider.log(.authorization).first?.query)
                    let name = String(query.prefix { $0 != "=" })
                    #expect(sent["a"] == "b" && sent.values(name).count == 1)
                }
            }
        }

    private static let prompts: [RealServer] =
        ([(["login", "none"], []), (["login", "consent"], ["consent"]), (nil, ["consent"])] as [([String]?, [String])])
        .map { listed, sent in
            RealServer(
                "a provider that lists its prompts", 2026,
                "prompt_values_supported is \(listed.map { "\($0)" } ?? "missing")",
                sent.isEmpty ? "no prompt=consent by default" : "prompt=consent by default, with offline_access"
            ) {
                try await withDesk { fixture in
                    fixture.provider.fault(
                        .editDocument { $0["prompt_values_supported"] = listed.map { .array($0.map(JSON.string)) } },
                        at: .openIDConfiguration, times: nil)
                    _ = try await fixture.start(fixture.loginArguments([])).outcome()
                    #expect(fixture.provider.log(.authorization).first?.query.values("prompt") == sent)
                }
            }
        }

    private static let ownedParameters: [RealServer] =
        ([
            "prompt=none", "state=x", "redirect_uri=https://evil.example", "client_id=x", "nonce=x", "code_challenge=x",
            "response_mode=fragment", "login_hint=mallory", "resource=https://evil.example",
            "prompt=login&prompt=consent", "prompt=none%09", "prompt=login%0Anone", "prompt=NONE",
            "response_type=token", "Prompt=none", "%20prompt=none", "prompt%00x=none", "x=1;prompt=none",
            "Response_Mode=fragment", "response.mode=fragment", "redirect[uri=x", "prompt[]=none",
        ] as [String]).map { query in
            RealServer("any", 2026, "authorization_endpoint has ?\(query)", "refused") {
                try await withDesk { fixture in
                    let endpoint = fixture.provider.url(.authorization)
                    fixture.provider.fault(
                        .editDocument { $0["authorization_endpoint"] = .string("\(endpoint)?\(query)") },
                        at: .openIDConfiguration, times: nil)
                    try await fixture.login().failure(1, "invalid_metadata")
                    #expect(fixture.browser.visits.isEmpty)
                }
            }
        }

    private static let pkce: [RealServer] = [
        RealServer(
            "Microsoft Entra", 2025, "code_challenge_methods_supported is missing", "S256, and --verbose says so"
        ) {
            try await withDesk { fixture in
                fixture.provider.fault(
                    .editDocument { $0["code_challenge_methods_supported"] = nil }, at: .openIDConfiguration, times: nil
                )
                let outcome = try await fixture.login("--verbose")
                _ = try outcome.result()
                #expect(outcome.errorLines.contains { $0.contains("PKCE") && $0.contains("S256") }, "\(outcome)")
                #expect(fixture.provider.log(.authorization).first?.query["code_challenge_method"] == "S256")
            }
        },
        RealServer("any", 2025, "code_challenge_methods_supported lists only plain", "refused") {
            try await withDesk { fixture in
                fixture.provider.fault(
                    .editDocument { $0["code_challenge_methods_supported"] = ["plain"] }, at: .openIDConfiguration)
                let message = try await fixture.login().failure(1, "invalid_metadata")
                #expect(message.contains("S256"))
            }
        },
    ]

    private static let pushed: [RealServer] = [
        RealServer("a bank", 2025, "a pushed request is answered with 200", "accepted") {
            try await withDesk { fixture in
                fixture.provider.fault(.editReply { $0.status = .ok }, at: .pushedAuthorization)
                _ = try await fixture.login("--par").result()
            }
        },
        RealServer("any", 2025, "a pushed request is answered with 202", "refused") {
            try await withDesk { fixture in
                fixture.provider.fault(.editReply { $0.status = .accepted }, at: .pushedAuthorization)
                try await fixture.login("--par").failure(1, "invalid_response")
            }
        },
    ]
}

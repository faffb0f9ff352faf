// swift-tools-version: 6.2

import PackageDescription

let httpTypes = Target.Dependency.product(name: "HTTPTypes", package: "swift-http-types")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let arguments = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")
let nio = ["NIOCore", "NIOPosix", "NIOHTTP1"].map { Target.Dependency.product(name: $0, package: "swift-nio") }

/// The modules that `import AppAuth` brings. Each product and target lists them all, even if it imports only one. SwiftPM 6.3
/// compiles a target again only after a change of the modules that it or its products list, and a type that they re-export can
/// have another layout then: the old code crashes.
let modules = ["AppAuth", "AppAuthProtocol", "AppAuthSession", "AppAuthConcurrency", "JOSE"]
let appAuth = modules.map { Target.Dependency.target(name: $0) } + [httpTypes]
/// With a provider, and a user at its pages.
let fixtures: [Target.Dependency] =
    appAuth + ["AppAuthServer", "AppAuthTestProvider", "ScriptedBrowser", "TestFixtures", logging]

let package = Package(
    name: "swift-appauth",
    products: [
        "AppAuth", "AppAuthServer", "AppAuthProxy", "AppAuthPostgreSQL", "AppAuthFoundation", "AppAuthLegacy",
        "SevenPass", "AppAuthTestSupport", "AppAuthTestProvider", "ScriptedBrowser",
    ].map { .library(name: $0, targets: Set(modules + [$0]).sorted()) }
        + ["sign-in", "local-provider"].map { .executable(name: $0, targets: [$0]) },
    dependencies: [
        .package(url: "https://github.com/apple/swift-http-types", from: "1.3.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.6.0"),
        // Of the commands, the samples and the test provider: an app without them fetches these, and builds neither.
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.80.0"),
    ],
    targets: [
        // The system's OpenSSL, and the headers of its libcurl (opened with dlopen when first used).
        .systemLibrary(name: "CLibcrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CLibcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .target(name: "CShims", dependencies: ["CLibcrypto", "CLibcurl"]),

        // The library, from the bottom up. A target uses those above it, never one below.
        .target(name: "AppAuthConcurrency"),
        .target(name: "JOSE", dependencies: ["AppAuthConcurrency", "CLibcrypto", "CShims"]),
        .target(name: "AppAuthProtocol", dependencies: ["AppAuthConcurrency", "JOSE", "CShims", httpTypes, logging]),
        .target(
            name: "AppAuthSession", dependencies: ["AppAuthConcurrency", "AppAuthProtocol", "JOSE", httpTypes, logging]),
        .target(
            name: "AppAuth",
            dependencies: ["AppAuthConcurrency", "AppAuthProtocol", "AppAuthSession", "JOSE", "CShims", httpTypes]),
        // For services, and apps with a server part: introspection, logout that the provider begins, approval on another
        // device (CIBA), claims of other issuers, and jobs of GitHub Actions.
        .target(name: "AppAuthServer", dependencies: appAuth),
        // For programs that cannot sign in: an endpoint on this machine that adds the session's token to their requests.
        .target(name: "AppAuthProxy", dependencies: appAuth + ["CLibcrypto", "CShims", logging]),
        // For services on several machines: a token store in PostgreSQL. libpq is opened with dlopen when first used.
        .target(
            name: "AppAuthPostgreSQL", dependencies: appAuth + ["CShims", logging],
            resources: [.embedInCode("schema.sql")]),
        // For apps that hold URLRequest; the only target that imports FoundationNetworking.
        .target(name: "AppAuthFoundation", dependencies: appAuth),
        // What RFC 9700 advises against, and old servers still need.
        .target(name: "AppAuthLegacy", dependencies: appAuth),
        // 7Pass: its configuration, its accounts API, and its sign-in through Facebook.
        .target(name: "SevenPass", dependencies: appAuth + ["CShims", logging]),
        // For the tests of apps: the checks of a token store; a provider on loopback with faults on request, which needs
        // libssl for TLS; and a browser that fills in forms by itself.
        .target(name: "AppAuthTestSupport", dependencies: appAuth),
        .systemLibrary(name: "CLibssl", pkgConfig: "libssl", providers: [.apt(["libssl-dev"])]),
        .target(
            name: "AppAuthTestProvider", dependencies: appAuth + ["CLibssl"] + nio,
            resources: [.embedInCode("Provider/Configuration/alice.png")]),
        .target(name: "ScriptedBrowser", dependencies: appAuth),

        // The commands.
        .target(
            name: "SignInTool",
            dependencies: appAuth
                + [
                    "AppAuthLegacy", "AppAuthProxy", "CShims", "TerminalShims", "ScriptedBrowser", logging, arguments,
                ]),
        program("sign-in", "Sources/SignIn", appAuth + ["SignInTool"]),
        // The size of a terminal, and libqrencode (opened with dlopen when a QR code is drawn).
        .target(name: "TerminalShims"),
        program("local-provider", "Sources/LocalProviderTool", appAuth + ["AppAuthTestProvider", arguments]),

        // The samples. They see of the library what another package sees: nothing that is declared `package`.
        .target(
            name: "VendorSample", dependencies: appAuth + ["ScriptedBrowser", arguments], path: "Samples/VendorSample",
            packageAccess: false),
        outsider("quick-start", "QuickStart", []),
        outsider("command-line", "CommandLine", []),
        .testTarget(
            name: "AppTests", dependencies: appAuth + ["AppAuthTestProvider", "ScriptedBrowser"],
            path: "Samples/AppTests", packageAccess: false),
        sample("seven-pass", "SevenPass", ["SevenPass"]),
        sample("ffs", "FFSAuthenticator", ["AppAuthFoundation"]),
        sample("moltin", "Moltin", ["AppAuthLegacy"]),
        sample("opro", "OPro", ["AppAuthLegacy"]),
        sample("sbanken", "Sbanken", ["AppAuthLegacy"]),

        // The tests: a target for most modules, and what they share.
        module(
            "TestFixtures", "Tests/Fixtures",
            appAuth + ["AppAuthServer", "AppAuthTestProvider", "ScriptedBrowser", logging]),
        .testTarget(name: "AppAuthConcurrencyTests", dependencies: fixtures),
        module("SoftwareTPM", "Tests/SoftwareTPM", []),
        .testTarget(
            name: "JOSETests", dependencies: ["AppAuthConcurrency", "JOSE", "SoftwareTPM"],
            resources: [.copy("Vectors")]),
        .testTarget(name: "AppAuthProtocolTests", dependencies: fixtures),
        .testTarget(name: "AppAuthSessionTests", dependencies: fixtures + ["SoftwareTPM"]),
        .testTarget(name: "AppAuthTests", dependencies: fixtures + ["CShims", "SoftwareTPM", "listening-app"]),
        .testTarget(name: "AppAuthProxyTests", dependencies: fixtures + ["AppAuthProxy", "CShims"]),
        .testTarget(name: "AppAuthServerTests", dependencies: fixtures),
        .testTarget(
            name: "AppAuthPostgreSQLTests",
            dependencies: fixtures + ["AppAuthPostgreSQL", "AppAuthTestSupport", "postgresql-program"]),
        .testTarget(name: "AppAuthFoundationTests", dependencies: fixtures + ["AppAuthFoundation"]),
        .testTarget(name: "AppAuthLegacyTests", dependencies: fixtures + ["AppAuthLegacy", "AppAuthFoundation"]),
        .testTarget(name: "SevenPassTests", dependencies: fixtures + ["SevenPass", "seven-pass", "local-provider"]),
        .testTarget(name: "AppAuthTestSupportTests", dependencies: appAuth + ["AppAuthTestSupport"]),
        .testTarget(
            name: "AppAuthTestProviderTests",
            dependencies: appAuth + ["AppAuthTestProvider", "TestFixtures", "local-provider"] + nio),
        // The built programs, from outside.
        .testTarget(
            name: "SignInTests",
            dependencies: fixtures
                + [
                    "SignInTool", "sign-in", "local-provider", "scripted-browser", "keyring-program", "SoftwareTPM",
                ]),
        .testTarget(
            name: "VendorSampleTests",
            dependencies: fixtures + [
                "command-line", "ffs", "moltin", "opro", "sbanken", "quick-start", "local-provider", "scripted-browser",
            ]),
        program("listening-app", "Tests/Programs/Listening", appAuth),
        program("scripted-browser", "Tests/Programs/ScriptedBrowser", appAuth + ["ScriptedBrowser"]),
        program("keyring-program", "Tests/Programs/Keyring", appAuth + ["AppAuthTestSupport"]),
        program(
            "postgresql-program", "Tests/Programs/PostgreSQL",
            appAuth + ["AppAuthPostgreSQL", "AppAuthTestSupport"]),
        // The session over simulated years.
        module("SessionSimulation", "Tests/Simulation/Model", appAuth),
        program("simulate", "Tests/Simulation/Program", appAuth + ["SessionSimulation", arguments]),
        tests("SimulationTests", "Tests/Simulation/Tests", appAuth + ["SessionSimulation"]),
        // A case for each module of the OpenID Foundation's plans for relying parties, and for each scenario of the Model Context
        // Protocol's suite.
        .testTarget(
            name: "ConformanceTests", dependencies: fixtures + ["AppAuthLegacy", "sign-in", "scripted-browser"],
            path: "Tests/Conformance", exclude: ["Modules.tsv", "table"]),
        // Starts real providers and a browser, for the built programs and for the library itself.
        .testTarget(
            name: "IntegrationTests",
            dependencies: appAuth + nio + [
                "AppAuthServer", "AppAuthTestProvider", "ScriptedBrowser", "TestFixtures",
                .product(name: "NIOWebSocket", package: "swift-nio"),
            ],
            path: "Tests/Integration", exclude: ["Setup"]),
    ],
    swiftLanguageModes: [.v6]
)

func module(_ name: String, _ path: String, _ dependencies: [Target.Dependency]) -> Target {
    .target(name: name, dependencies: dependencies, path: path)
}

func program(_ name: String, _ path: String, _ dependencies: [Target.Dependency]) -> Target {
    .executableTarget(name: name, dependencies: dependencies, path: path)
}

func outsider(_ name: String, _ folder: String, _ dependencies: [Target.Dependency]) -> Target {
    .executableTarget(
        name: name, dependencies: appAuth + dependencies, path: "Samples/\(folder)", packageAccess: false)
}

func sample(_ name: String, _ folder: String, _ modules: [Target.Dependency]) -> Target {
    outsider(name, folder, modules + ["VendorSample", arguments])
}

func tests(_ name: String, _ path: String, _ dependencies: [Target.Dependency]) -> Target {
    .testTarget(name: name, dependencies: dependencies, path: path)
}

// Tests/Fuzz/run builds it with libFuzzer, which brings the `main` that it lacks.
if Context.environment["APPAUTH_FUZZ"] != nil {
    let fuzz = program("fuzz", "Tests/Fuzz/Sources", appAuth + ["AppAuthProxy"])
    fuzz.swiftSettings = [.unsafeFlags(["-parse-as-library"])]
    package.targets.append(fuzz)
}

let features = ["ExistentialAny", "InternalImportsByDefault", "MemberImportVisibility"]
for target in package.targets where target.type != .system {
    target.swiftSettings = (target.swiftSettings ?? []) + features.map { .enableUpcomingFeature($0) }
}

// For those who build a few targets in a way of their own, as Tests/Sanitizers/run does: these, and what they depend on.
if let chosen = Context.environment["APPAUTH_TARGETS"] {
    var (wanted, next) = (Set<String>(), chosen.split(separator: ",").map(String.init))
    while let name = next.popLast() {
        let target = package.targets.first { $0.name == name }
        guard wanted.insert(name).inserted, let target else { continue }
        for dependency in target.dependencies {
            switch dependency {
            case .byNameItem(let name, _), .targetItem(let name, _): next.append(name)
            default: break
            }
        }
    }
    package.targets.removeAll { !wanted.contains($0.name) }
    package.products = []
}

// swift-tools-version: 6.2

import PackageDescription

let swift: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

let httpTypes = Target.Dependency.product(name: "HTTPTypes", package: "swift-http-types")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")

let package = Package(
    name: "swift-appauth",
    products: [
        .library(name: "AppAuth", targets: ["AppAuth"]),
        .library(name: "AppAuthServer", targets: ["AppAuthServer"]),
        .library(name: "AppAuthFoundation", targets: ["AppAuthFoundation"]),
        .library(name: "AppAuthLegacy", targets: ["AppAuthLegacy"]),
        .library(name: "SevenPass", targets: ["SevenPass"]),
        .library(name: "AppAuthTestSupport", targets: ["AppAuthTestSupport"]),
        .library(name: "AppAuthTestProvider", targets: ["AppAuthTestProvider"]),
        .library(name: "ScriptedBrowser", targets: ["ScriptedBrowser"]),
        .executable(name: "sign-in", targets: ["sign-in"]),
        .executable(name: "local-provider", targets: ["local-provider"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-http-types", from: "1.3.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.6.0"),
        // Of the commands, the samples and the test provider: an app without them fetches these, and builds neither.
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.80.0"),
    ],
    targets: [
        // The system's OpenSSL and the headers of its libcurl (opened with dlopen when first used).
        .systemLibrary(name: "CLibcrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CLibcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .target(name: "CShims", dependencies: ["CLibcrypto", "CLibcurl"]),

        // The library, from the bottom up. Each target uses those above it, never one below.
        .target(name: "JOSE", dependencies: ["CLibcrypto", "CShims"], swiftSettings: swift),
        .target(name: "AppAuthProtocol", dependencies: ["JOSE", "CShims", httpTypes, logging], swiftSettings: swift),
        .target(
            name: "AppAuthSession", dependencies: ["AppAuthProtocol", "JOSE", httpTypes, logging], swiftSettings: swift),
        .target(
            name: "AppAuth", dependencies: ["AppAuthProtocol", "AppAuthSession", "JOSE", "CShims", httpTypes],
            swiftSettings: swift),

        // For apps with a server part: what tokens are worth, and sessions that the provider ends.
        .target(
            name: "AppAuthServer", dependencies: ["AppAuth", "AppAuthProtocol", "AppAuthSession", "JOSE", httpTypes],
            swiftSettings: swift),

        // For apps that hold URLRequest; the only target that imports FoundationNetworking.
        .target(
            name: "AppAuthFoundation",
            dependencies: ["AppAuth", "AppAuthProtocol", "AppAuthSession", "JOSE", httpTypes],
            swiftSettings: swift),
        // What RFC 9700 advises against, and old servers still need.
        .target(
            name: "AppAuthLegacy", dependencies: ["AppAuth", "AppAuthProtocol", "AppAuthSession", "JOSE", httpTypes],
            swiftSettings: swift),

        // 7Pass: its configuration, its accounts API, and its sign-in through Facebook.
        .target(
            name: "SevenPass",
            dependencies: [
                "AppAuth", "AppAuthLegacy", "AppAuthProtocol", "AppAuthSession", "JOSE", "CShims", httpTypes,
            ],
            swiftSettings: swift),

        // For the tests of apps that have a store of their own.
        .target(
            name: "AppAuthTestSupport", dependencies: ["AppAuth", "AppAuthProtocol", "AppAuthSession", "JOSE"],
            swiftSettings: swift),

        // The commands, and the samples: these use the products alone, and Tests/Outside builds them so.
        .executableTarget(
            name: "sign-in",
            dependencies: [
                "AppAuth", "AppAuthLegacy", "AppAuthProtocol", "AppAuthSession", "JOSE", "CShims", "TerminalShims",
                "ScriptedBrowser", httpTypes, logging,
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "Sources/SignInTool", swiftSettings: swift),
        .executableTarget(
            name: "seven-pass",
            dependencies: [
                "SevenPass", "SampleSupport", .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "Samples/SevenPass", swiftSettings: swift),
        // The size of a terminal, and libqrencode (opened with dlopen when a QR code is drawn).
        .target(name: "TerminalShims"),
        // What starts a server to try a sample with, and plays the person where there is no display.
        .target(
            name: "SampleSupport",
            dependencies: [
                "AppAuth", "ScriptedBrowser", .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "Samples/Support", swiftSettings: swift),
        .executableTarget(
            name: "quick-start", dependencies: ["AppAuth"], path: "Samples/QuickStart", swiftSettings: swift),
        .testTarget(
            name: "AppTests", dependencies: ["AppAuth", "AppAuthTestProvider", "ScriptedBrowser"],
            path: "Samples/AppTests", swiftSettings: swift),
        // For apps' tests: a browser that fills in forms by itself.
        .target(
            name: "ScriptedBrowser", dependencies: ["AppAuth", "AppAuthProtocol", httpTypes], swiftSettings: swift),
        // The system's OpenSSL again, for a provider that is to be spoken to by TLS.
        .systemLibrary(
            name: "CLibssl", pkgConfig: "libssl",
            providers: [.apt(["libssl-dev"])]),
        // For apps' tests: an OpenID provider with faults on request.
        .target(
            name: "AppAuthTestProvider",
            dependencies: [
                "CLibssl", "JOSE", httpTypes,
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
            ], swiftSettings: swift),
        .executableTarget(
            name: "local-provider",
            dependencies: [
                "AppAuthTestProvider", "JOSE", httpTypes,
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "Sources/LocalProviderTool", swiftSettings: swift),
        .executableTarget(
            name: "moltin",
            dependencies: [
                "AppAuthLegacy", "SampleSupport", .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "Samples/Moltin", swiftSettings: swift),
        .executableTarget(
            name: "opro",
            dependencies: [
                "AppAuthLegacy", "SampleSupport", .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "Samples/OPro", swiftSettings: swift),
        .executableTarget(
            name: "sbanken",
            dependencies: [
                "AppAuthLegacy", "SampleSupport", .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "Samples/Sbanken", swiftSettings: swift),

        .testTarget(
            name: "AppAuthTests",
            dependencies: [
                "AppAuth", "AppAuthProtocol", "AppAuthSession", "JOSE", "CShims", "listening-app", httpTypes,
            ],
            swiftSettings: swift),
        .executableTarget(
            name: "listening-app", dependencies: ["AppAuth", httpTypes], path: "Tests/Support/ListeningProgram",
            swiftSettings: swift),
        .testTarget(
            name: "AppAuthCoreTests",
            dependencies: [
                "AppAuthProtocol", "AppAuthSession", "AppAuthServer", "AppAuth", "JOSE", "AppAuthTestProvider",
                "ScriptedBrowser", httpTypes, logging,
            ],
            swiftSettings: swift),
        .target(
            name: "SessionSimulation", dependencies: ["AppAuthProtocol", "AppAuthSession", "JOSE", httpTypes],
            path: "Tests/Simulation/Model", swiftSettings: swift),
        .executableTarget(
            name: "simulate",
            dependencies: ["SessionSimulation", .product(name: "ArgumentParser", package: "swift-argument-parser")],
            path: "Tests/Simulation/Program", swiftSettings: swift),
        .testTarget(
            name: "SimulationTests", dependencies: ["SessionSimulation", "AppAuthProtocol", "AppAuthSession"],
            path: "Tests/Simulation/Tests", swiftSettings: swift),
        .testTarget(
            name: "AppAuthFoundationTests",
            dependencies: [
                "AppAuthFoundation", "AppAuthProtocol", "AppAuthSession", "JOSE", "AppAuthTestProvider", httpTypes,
            ],
            swiftSettings: swift),
        .testTarget(
            name: "AppAuthLegacyTests",
            dependencies: [
                "AppAuthLegacy", "AppAuthFoundation", "AppAuth", "AppAuthProtocol", "AppAuthSession", "JOSE",
                "AppAuthTestProvider", httpTypes,
            ],
            swiftSettings: swift),
        .testTarget(
            name: "VendorSampleTests",
            dependencies: [
                "AppAuthTestProvider", "JOSE", "moltin", "opro", "sbanken", "local-provider", httpTypes,
            ],
            swiftSettings: swift),
        .testTarget(
            name: "AppAuthTestSupportTests",
            dependencies: ["AppAuthTestSupport", "AppAuth", "AppAuthProtocol", "AppAuthSession", "JOSE"],
            swiftSettings: swift),
        .testTarget(
            name: "JOSETests", dependencies: ["JOSE"], resources: [.copy("Vectors")], swiftSettings: swift),
        .testTarget(
            name: "AppAuthTestProviderTests",
            dependencies: [
                "AppAuthTestProvider", "local-provider", "JOSE", httpTypes,
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: swift),
        // The built programs, from outside.
        .executableTarget(
            name: "scripted-browser",
            dependencies: ["AppAuth", "AppAuthProtocol", "AppAuthSession", "JOSE", "ScriptedBrowser"],
            path: "Tests/Support/ScriptedBrowserProgram", swiftSettings: swift),
        .executableTarget(
            name: "keyring-program",
            dependencies: ["AppAuth", "AppAuthProtocol", "AppAuthSession", "AppAuthTestSupport", "JOSE"],
            path: "Tests/Support/KeyringProgram", swiftSettings: swift),
        .testTarget(
            name: "SignInTests",
            dependencies: [
                "AppAuth", "AppAuthProtocol", "AppAuthSession", "JOSE", "AppAuthTestProvider", "ScriptedBrowser",
                httpTypes,
            ],
            swiftSettings: swift),
        .testTarget(
            name: "SevenPassTests",
            dependencies: [
                "SevenPass", "AppAuthProtocol", "AppAuthSession", "JOSE", "AppAuthTestProvider", "ScriptedBrowser",
                httpTypes,
            ],
            swiftSettings: swift),
        // A case for each module of the OpenID Foundation's plans for relying parties.
        .testTarget(
            name: "ConformanceTests",
            dependencies: [
                "AppAuthLegacy", "AppAuth", "AppAuthProtocol", "AppAuthSession", "AppAuthServer", "JOSE",
                "AppAuthTestProvider",
                "ScriptedBrowser", httpTypes,
            ],
            path: "Tests/Conformance", exclude: ["Modules.tsv", "table"], swiftSettings: swift),
        // Starts real providers and a browser, for the built programs and for the library itself.
        .testTarget(
            name: "IntegrationTests",
            dependencies: [
                "AppAuth", "AppAuthProtocol", "AppAuthSession", "AppAuthServer", httpTypes,
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOWebSocket", package: "swift-nio"),
            ],
            path: "Tests/Integration", exclude: ["Setup"], swiftSettings: swift),
    ],
    swiftLanguageModes: [.v6]
)

// Tests/Fuzz/run builds it with libFuzzer, which brings the `main` that it lacks.
if Context.environment["APPAUTH_FUZZ"] != nil {
    package.targets.append(
        .executableTarget(
            name: "fuzz", dependencies: ["AppAuth", "AppAuthProtocol", "AppAuthSession", "JOSE", httpTypes],
            path: "Tests/Fuzz/Sources",
            swiftSettings: swift + [.unsafeFlags(["-parse-as-library"])]))
}

// For those who build a few targets in a way of their own, as Tests/Sanitizers/run does: these, and what they depend on.
if let chosen = Context.environment["APPAUTH_TARGETS"] {
    var wanted: Set<String> = []
    func add(_ name: String) {
        guard let target = package.targets.first(where: { $0.name == name }), wanted.insert(name).inserted else {
            return
        }
        for case .byNameItem(let dependency, _) in target.dependencies { add(dependency) }
    }
    for name in chosen.split(separator: ",") { add(String(name)) }
    package.targets.removeAll { !wanted.contains($0.name) }
    package.products = []
}

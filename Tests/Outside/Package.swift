// swift-tools-version: 6.2

import PackageDescription

// The package of an outsider who has copied the samples: of swift-appauth it sees the products only. Tests/Outside/run puts
// it into .build/outside, from where ../.. is swift-appauth too.
func product(_ name: String) -> Target.Dependency { .product(name: name, package: "swift-appauth") }
let argumentParser = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")

let package = Package(
    name: "outside",
    dependencies: [
        .package(name: "swift-appauth", path: "../.."),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
    ],
    targets: [
        .executableTarget(name: "quick-start", dependencies: [product("AppAuth")], path: "Samples/QuickStart"),
        .executableTarget(name: "command-line", dependencies: [product("AppAuth")], path: "Samples/CommandLine"),
        .testTarget(
            name: "AppTests",
            dependencies: [product("AppAuth"), product("AppAuthTestProvider"), product("ScriptedBrowser")],
            path: "Samples/AppTests"),
        .target(
            name: "SampleSupport", dependencies: [product("AppAuth"), product("ScriptedBrowser"), argumentParser],
            path: "Samples/Support"),
        .executableTarget(
            name: "ffs", dependencies: ["SampleSupport", product("AppAuthFoundation"), argumentParser],
            path: "Samples/FFSAuthenticator"),
        .executableTarget(
            name: "moltin", dependencies: ["SampleSupport", product("AppAuthLegacy"), argumentParser],
            path: "Samples/Moltin"),
        .executableTarget(
            name: "opro", dependencies: ["SampleSupport", product("AppAuthLegacy"), argumentParser],
            path: "Samples/OPro"),
        .executableTarget(
            name: "sbanken", dependencies: ["SampleSupport", product("AppAuthLegacy"), argumentParser],
            path: "Samples/Sbanken"),
        .executableTarget(
            name: "seven-pass", dependencies: ["SampleSupport", product("SevenPass"), argumentParser],
            path: "Samples/SevenPass"),
    ],
    swiftLanguageModes: [.v6]
)

// swift-tools-version: 6.2

import PackageDescription

// A package of its own, so that appauth-bench is built without the dependencies of its peer.
let package = Package(
    name: "benchmark-peer",
    dependencies: [.package(url: "https://github.com/vapor/jwt-kit", exact: "5.7.1")],
    targets: [
        .executableTarget(
            name: "jwt-kit-bench", dependencies: [.product(name: "JWTKit", package: "jwt-kit")], path: "Sources",
            swiftSettings: [
                .enableUpcomingFeature("ExistentialAny"),
                .enableUpcomingFeature("InternalImportsByDefault"),
                .enableUpcomingFeature("MemberImportVisibility"),
            ])
    ],
    swiftLanguageModes: [.v6]
)

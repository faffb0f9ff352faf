// swift-tools-version: 6.2

import PackageDescription

let swift: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

// A package of its own, so that a package that depends on the library neither resolves nor builds it.
let package = Package(
    name: "benchmarks",
    products: [
        .executable(name: "appauth-bench", targets: ["appauth-bench"]),
        .executable(name: "listener-bench", targets: ["listener-bench"]),
    ],
    dependencies: [
        .package(name: "swift-appauth", path: "../.."),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.3.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.80.0"),
    ],
    targets: [
        .executableTarget(
            name: "appauth-bench",
            dependencies: [
                "BenchReport",
                .product(name: "AppAuth", package: "swift-appauth"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            path: "Sources", swiftSettings: swift),
        .executableTarget(
            name: "listener-bench",
            dependencies: [
                "BenchReport",
                .product(name: "AppAuth", package: "swift-appauth"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
            ],
            path: "Listener", swiftSettings: swift),
        .target(name: "BenchReport", path: "Report", swiftSettings: swift),
    ],
    swiftLanguageModes: [.v6]
)

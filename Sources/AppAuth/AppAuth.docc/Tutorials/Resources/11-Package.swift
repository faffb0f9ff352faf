// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "Greeter",
    dependencies: [
        .package(url: "file:///home/jane/swift-appauth", branch: "main")
    ],
    targets: [
        .executableTarget(
            name: "greeter",
            dependencies: [.product(name: "SevenPass", package: "swift-appauth")])
    ])

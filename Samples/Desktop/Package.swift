// swift-tools-version: 6.2

import PackageDescription

// A package of its own, so that the library builds without GTK. It uses only the public products.
// It needs GTK 4.8 and libadwaita 1.2, as in Debian 12 and Ubuntu 24.04.
let package = Package(
    name: "my-account",
    dependencies: [.package(name: "swift-appauth", path: "../..")],
    targets: [
        .systemLibrary(
            name: "CAdwaita", pkgConfig: "libadwaita-1", providers: [.apt(["libgtk-4-dev", "libadwaita-1-dev"])]),
        .executableTarget(
            name: "my-account", dependencies: ["CAdwaita", .product(name: "AppAuth", package: "swift-appauth")],
            path: "Sources/MyAccount", resources: [.embedInCode("window.ui")]),
    ],
    swiftLanguageModes: [.v6]
)

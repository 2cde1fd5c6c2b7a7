// swift-tools-version: 6.0

import PackageDescription

// What an app adds by URL: no dependencies, so that an app resolves nothing but this repository.
// Everything that runs on a server lives in Server/, which has a manifest of its own.
let package = Package(
    name: "perennial",
    platforms: [.iOS(.v15), .macOS(.v12)],
    products: [
        .library(name: "PerennialContract", targets: ["PerennialContract"])
    ],
    targets: [
        .target(name: "PerennialContract"),
        .testTarget(name: "PerennialContractTests", dependencies: ["PerennialContract"]),
    ],
    swiftLanguageModes: [.v6]
)

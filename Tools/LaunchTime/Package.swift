// swift-tools-version: 6.0

import PackageDescription

// Measures how long the SDK takes from `init` to its first answer. `bin/launch-time` runs it.
let package = Package(
    name: "launch-time",
    platforms: [.macOS(.v12)],
    dependencies: [.package(name: "perennial", path: "../..")],
    targets: [
        .executableTarget(
            name: "LaunchTime", dependencies: [.product(name: "Perennial", package: "perennial")])
    ],
    swiftLanguageModes: [.v6]
)

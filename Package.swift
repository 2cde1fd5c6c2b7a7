// swift-tools-version: 6.0

import PackageDescription

/// Folders that only Linux can compile: they need its `StoreKit`, the simulated one.
func onlyOnLinux(_ folders: [String]) -> [String] {
    #if os(Linux)
        return []
    #else
        return folders
    #endif
}

// What an app adds by URL: no dependencies, so that an app resolves nothing but this repository.
// Everything that runs on a server lives in Server/, which has a manifest of its own.
let package = Package(
    name: "perennial",
    platforms: [.iOS(.v15), .macOS(.v12)],
    products: [
        .library(name: "PerennialContract", targets: ["PerennialContract"]),
        .library(name: "Perennial", targets: ["Perennial"]),
        .library(name: "PerennialUI", targets: ["PerennialUI"]),
        // For test targets.
        .library(name: "PerennialTesting", targets: ["PerennialTesting"]),
    ],
    targets: [
        .target(name: "PerennialContract"),
        .target(name: "AccessRules", dependencies: ["PerennialContract"]),
        .target(
            name: "Perennial", dependencies: ["AccessRules", "PerennialContract"],
            resources: [.copy("PrivacyInfo.xcprivacy")]),
        .target(
            name: "PerennialUI", dependencies: ["Perennial"],
            resources: [.copy("PrivacyInfo.xcprivacy")]),
        .target(
            name: "PerennialTesting",
            dependencies: ["AccessRules", "Perennial", "PerennialContract"],
            exclude: onlyOnLinux(["World"])),
        .testTarget(name: "PerennialContractTests", dependencies: ["PerennialContract"]),
        .testTarget(
            name: "AccessRulesTests", dependencies: ["AccessRules", "PerennialContract"],
            exclude: ["Tables"]),
        .testTarget(
            name: "PerennialTests", dependencies: ["Perennial", "AccessRules"],
            exclude: ["Tables"] + onlyOnLinux(["Kills", "Lives", "Stories", "Support"])),
        .testTarget(
            name: "PerennialTestingTests", dependencies: ["Perennial", "PerennialTesting"],
            exclude: onlyOnLinux(["World"])),
    ],
    swiftLanguageModes: [.v6]
)

// On a Mac nothing of this exists, so that an app resolves no dependency.
#if os(Linux)
    // Foundation has no elliptic curves here; Apple's systems have CryptoKit.
    package.dependencies.append(
        .package(url: "https://github.com/apple/swift-crypto", exact: "4.5.2"))
    // `swift package generate-documentation --target Perennial`. No target depends on it.
    package.dependencies.append(
        .package(url: "https://github.com/swiftlang/swift-docc-plugin", exact: "1.5.0"))
    // Apple's names over the simulator, to run StoreKit code on Linux. Never elsewhere: a module of
    // this name would hide Apple's.
    package.products.append(.library(name: "StoreKit", targets: ["StoreKit"]))
    // Worlds for tests have phones with the simulated StoreKit.
    package.targets.first { $0.name == "PerennialTesting" }?.dependencies += ["StoreKit"]
    package.targets.first { $0.name == "PerennialTests" }?.dependencies += ["PerennialTesting"]
    package.targets.first { $0.name == "Perennial" }?.dependencies += [
        .product(name: "Crypto", package: "swift-crypto"), "StoreKit",
    ]
    package.targets += [
        .target(name: "StoreKit"),
        // The app that the kill tests kill.
        .executableTarget(
            name: "KilledApp", dependencies: ["Perennial", "PerennialTesting"],
            path: "Tests/KilledApp"),
        // The waits of the server's tests, which have limits.
        .target(name: "Eventually", path: "Server/Tests/Eventually"),
        .testTarget(name: "StoreKitTests", dependencies: ["StoreKit", "Eventually"]),
        // Compiles the examples of the pages, and lists the public declarations.
        .testTarget(
            name: "DocsTests",
            dependencies: [
                "Eventually", "FirstPurchase", "Perennial", "PerennialContract",
                "PerennialTesting", "StoreKit",
            ],
            exclude: ["Stage.swift.txt", "Surface"]),
        .executableTarget(
            name: "StoreKitOnLinux", dependencies: ["StoreKit"], path: "Examples/StoreKitOnLinux"),
        .executableTarget(
            name: "FirstPurchase", dependencies: ["Perennial"], path: "Examples/FirstPurchase"),
        .target(name: "RageCore", dependencies: ["Perennial"], path: "Examples/Rage/Core"),
        .executableTarget(
            name: "Rage", dependencies: ["Perennial", "RageCore", "StoreKit"],
            path: "Examples/Rage/Terminal"),
        .testTarget(
            name: "RageTests", dependencies: ["Perennial", "RageCore", "StoreKit"]),
    ]
#endif

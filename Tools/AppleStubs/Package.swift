// swift-tools-version: 6.0

import PackageDescription

// Checks on Linux what is written for Apple's systems. Sources/ has declarations of Apple's
// frameworks, as far as our sources use them; Checked/ has links to our sources, which
// `bin/check-apple` makes before it builds this. In no product's graph.

let stubs: [Target.Dependency] = [
    "AppKit", "Combine", "Crypto", "CryptoKit", "Security", "SwiftUI", "UIKit", "_StoreKit_SwiftUI",
    "os",
]

/// One module of ours, with all the stubs, so that `canImport` says the same at each build.
func checked(
    _ name: String, _ dependencies: [Target.Dependency] = [], exclude: [String] = []
) -> Target {
    .target(
        name: name, dependencies: stubs + dependencies, path: "Checked/\(name)", exclude: exclude)
}

let package = Package(
    name: "apple-stubs",
    products: [
        .library(name: "PerennialUI", targets: ["PerennialUI"]),
        .library(name: "PerennialTesting", targets: ["PerennialTesting"]),
    ],
    targets: [
        .target(name: "Combine"),
        .target(name: "SwiftUI", dependencies: ["Combine"]),
        .target(name: "UIKit", dependencies: ["StoreKit"]),
        .target(name: "AppKit", dependencies: ["StoreKit"]),
        .target(name: "_StoreKit_SwiftUI", dependencies: ["StoreKit", "SwiftUI"]),
        .target(name: "CryptoKit"),
        .target(name: "Crypto", dependencies: ["CryptoKit"]),
        .target(name: "Security"),
        .target(name: "os"),
        .target(name: "StoreKit", path: "Checked/StoreKit"),
        checked("PerennialContract"),
        checked("AccessRules", ["PerennialContract"]),
        checked(
            "Perennial", ["AccessRules", "PerennialContract", "StoreKit"],
            exclude: ["PrivacyInfo.xcprivacy"]),
        checked(
            "PerennialTesting", ["AccessRules", "Perennial", "PerennialContract", "StoreKit"],
            exclude: ["World"]),
        checked("PerennialUI", ["Perennial", "StoreKit"], exclude: ["PrivacyInfo.xcprivacy"]),
    ],
    swiftLanguageModes: [.v6]
)

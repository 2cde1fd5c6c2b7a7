// swift-tools-version: 6.2

import PackageDescription

let strict: [SwiftSetting] = [
    .treatAllWarnings(as: .error),
    // An async function runs where its caller does: to go elsewhere and back takes longer than most
    // of them do.
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]
// The modules that do the work when tests play years of purchases, or read every source file, are
// optimised in debug builds, too. The others are not: that would triple the time of a build. For a
// debugger: PERENNIAL_UNOPTIMIZED=1.
let optimised: Set = [
    "Ledger", "AppStoreFormats", "AppStoreTrust", "Intake", "Reports", "Simulator", "TidyTests",
]
let quick =
    Context.environment["PERENNIAL_UNOPTIMIZED"] == nil
    ? strict + [.unsafeFlags(["-O"], .when(configuration: .debug))] : strict

let asn1 = Target.Dependency.product(name: "SwiftASN1", package: "swift-asn1")
let argumentParser = Target.Dependency.product(
    name: "ArgumentParser", package: "swift-argument-parser")
let configuration = Target.Dependency.product(name: "Configuration", package: "swift-configuration")
let contract = Target.Dependency.product(name: "PerennialContract", package: "perennial")
let tracing = Target.Dependency.product(
    name: "Tracing", package: "swift-distributed-tracing")
let crypto = Target.Dependency.product(name: "Crypto", package: "swift-crypto")
let cryptoExtras = Target.Dependency.product(name: "_CryptoExtras", package: "swift-crypto")
let httpClient = Target.Dependency.product(name: "AsyncHTTPClient", package: "async-http-client")
let hummingbird = Target.Dependency.product(name: "Hummingbird", package: "hummingbird")
let hummingbirdTesting = Target.Dependency.product(
    name: "HummingbirdTesting", package: "hummingbird")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let nioCore = Target.Dependency.product(name: "NIOCore", package: "swift-nio")
let nioEmbedded = Target.Dependency.product(name: "NIOEmbedded", package: "swift-nio")
let nioHTTP1 = Target.Dependency.product(name: "NIOHTTP1", package: "swift-nio")
let nioHTTP2 = Target.Dependency.product(name: "NIOHTTP2", package: "swift-nio-http2")
let nioHTTPTypesHTTP1 = Target.Dependency.product(
    name: "NIOHTTPTypesHTTP1", package: "swift-nio-extras")
let nioPosix = Target.Dependency.product(name: "NIOPosix", package: "swift-nio")
let nioSSL = Target.Dependency.product(name: "NIOSSL", package: "swift-nio-ssl")
let nioTLS = Target.Dependency.product(name: "NIOTLS", package: "swift-nio")
let serviceLifecycle = Target.Dependency.product(
    name: "ServiceLifecycle", package: "swift-service-lifecycle")
let unixSignals = Target.Dependency.product(
    name: "UnixSignals", package: "swift-service-lifecycle")
let x509 = Target.Dependency.product(name: "X509", package: "swift-certificates")
let yams = Target.Dependency.product(name: "Yams", package: "Yams")

// Of use while other targets do not compile: PERENNIAL_ONLY=Ledger,LedgerTests builds these alone.
let only = Context.environment["PERENNIAL_ONLY"].map {
    $0.split(separator: ",").map(String.init)
}
let keep: (Target) -> Bool = { target in only.map { $0.contains(target.name) } ?? true }

/// Files that are part of the program: `PackageResources` has their bytes.
let embedded: [String: [Resource]] = [
    "Storage": [.embedInCode("Schema/postgres.sql"), .embedInCode("Schema/sqlite.sql")]
]

func library(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
    .target(
        name: name, dependencies: dependencies, resources: embedded[name] ?? [],
        swiftSettings: optimised.contains(name) ? quick : strict)
}

/// Files in `Tables` are read where they stand: tables in plain text.
func tests(_ name: String, _ dependencies: [Target.Dependency], tables: Bool = false) -> Target {
    .testTarget(
        name: name, dependencies: dependencies, exclude: tables ? ["Tables"] : [],
        swiftSettings: optimised.contains(name) ? quick : strict)
}

// The arrows between these targets are a table in Tests/TidyTests: SwiftPM itself does not
// enforce them.
let package = Package(
    name: "perennial-server",
    platforms: [.macOS(.v15)],
    products: [("perennial", "Program"), ("perennial-bench", "Benchmarks")]
        .filter { only?.contains($0.1) ?? true }
        .map { .executable(name: $0.0, targets: [$0.1]) },
    // Exact, so that a commit means the same program later, too.
    dependencies: [
        .package(name: "perennial", path: ".."),
        .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2"),
        .package(url: "https://github.com/apple/swift-asn1", exact: "1.7.4"),
        .package(url: "https://github.com/apple/swift-certificates", exact: "1.21.1"),
        .package(
            url: "https://github.com/apple/swift-configuration", exact: "1.4.0",
            traits: ["CommandLineArguments", "YAML"]),
        .package(url: "https://github.com/apple/swift-crypto", exact: "4.5.2"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", exact: "1.7.3"),
        .package(url: "https://github.com/apple/swift-log", exact: "1.16.2"),
        .package(url: "https://github.com/apple/swift-nio", exact: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-extras", exact: "1.35.2"),
        .package(url: "https://github.com/apple/swift-nio-http2", exact: "1.46.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", exact: "2.37.6"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", exact: "2.28.1"),
        .package(url: "https://github.com/jpsim/Yams", exact: "6.2.2"),
        .package(url: "https://github.com/swift-server/async-http-client", exact: "1.37.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", exact: "2.13.0"),
    ],
    targets: ([
        library("Ledger"),
        library("AppStoreFormats"),
        library("AppStoreTrust", ["AppStoreFormats", x509, asn1, crypto, cryptoExtras]),
        library("OutgoingHTTP", [httpClient, nioCore, nioHTTP1]),
        library(
            "AppStoreClient", ["AppStoreFormats", "OutgoingHTTP", crypto, httpClient, nioCore]),
        library("BucketClient", ["Ledger", "OutgoingHTTP", crypto, httpClient, nioCore]),
        library("Courier", [crypto, httpClient, nioCore]),
        library("MailClient", [nioCore, nioPosix, nioSSL]),
        library("Intake", ["Ledger", "AppStoreFormats"]),
        library("Reports", ["Ledger"]),
        library("RevenueCatWebhooks", ["Ledger", contract]),
        library("RevenueCatWire", ["Ledger", "RevenueCatWebhooks", contract]),
        library("Rehearsal", ["Ledger"]),
        library("Traces", [tracing]),
        library(
            "RevenueCatClient",
            ["AppStoreFormats", "Ledger", "OutgoingHTTP", "Rehearsal", httpClient]),
        .target(
            name: "Dashboard", dependencies: [contract],
            resources: [.embedInCode("Resources")], swiftSettings: strict),
        library(
            "OpenIDConnect",
            [
                "AppStoreFormats", "Ledger", "OutgoingHTTP", crypto, cryptoExtras, httpClient,
                nioCore,
            ]),
        library("Passkeys", ["AppStoreFormats", crypto, cryptoExtras]),
        library("HTTPBasics", [crypto, hummingbird, nioCore, serviceLifecycle]),
        library("Storage", ["Ledger", "Reports"]),
        .systemLibrary(
            name: "CSQLite", pkgConfig: "sqlite3",
            providers: [.apt(["libsqlite3-dev"]), .brew(["sqlite"])]),
        library("StorageSQLite", ["Storage", "CSQLite"]),
        .systemLibrary(
            name: "CLibPQ", pkgConfig: "libpq",
            providers: [.apt(["libpq-dev"]), .brew(["libpq"])]),
        .systemLibrary(
            name: "CZlib", pkgConfig: "zlib",
            providers: [.apt(["zlib1g-dev"]), .brew(["zlib"])]),
        library("StoragePostgres", ["Storage", "CLibPQ"]),
        library(
            "Engine",
            [
                "Ledger", "Intake", "Reports", "AppStoreClient", "AppStoreFormats", "AppStoreTrust",
                "OpenIDConnect", "Passkeys", "Rehearsal", "Storage", "Traces", contract, crypto,
                cryptoExtras, logging, tracing,
            ]),
        library(
            "HTTPServer",
            [
                "Dashboard", "Engine", "HTTPBasics", "Ledger", "OpenIDConnect", "Passkeys",
                "Reports", "RevenueCatWebhooks", "RevenueCatWire", "Storage", "Traces", contract,
                asn1, hummingbird, logging, nioCore, nioHTTP1, nioHTTP2, nioHTTPTypesHTTP1, nioSSL,
                nioTLS, serviceLifecycle, tracing, x509,
            ]),
        library(
            "Simulator",
            [
                "AppStoreFormats", "HTTPBasics", x509, asn1, crypto, cryptoExtras, hummingbird,
                nioCore,
            ]),
        library(
            "Convergence",
            [
                "AppStoreClient", "AppStoreFormats", "AppStoreTrust", "Engine", "Ledger",
                "Reports", "Simulator", "Storage", "StorageSQLite", logging,
            ]),
        .executableTarget(
            name: "Program",
            dependencies: [
                "AppStoreClient", "AppStoreFormats", "AppStoreTrust", "BucketClient", "CZlib",
                "Convergence", "Courier", "Dashboard", "Engine", "HTTPBasics", "HTTPServer",
                "Ledger", "MailClient", "OpenIDConnect", "OutgoingHTTP", "Passkeys", "Rehearsal",
                "Reports", "RevenueCatClient", "Simulator", "Storage", "StoragePostgres",
                "StorageSQLite", "Traces",
                contract, crypto, argumentParser, configuration, httpClient, hummingbird, logging,
                nioCore,
                nioPosix, serviceLifecycle, unixSignals, yams,
            ],
            swiftSettings: strict),
        .executableTarget(
            name: "Benchmarks",
            dependencies: [
                "AppStoreFormats", "AppStoreTrust", "CLibPQ", "CSQLite", "Engine", "Intake",
                "Ledger",
                "PostgresCluster", "Reports", "Simulator", "Storage", "StoragePostgres",
                "StorageSQLite", argumentParser, asn1, crypto, hummingbird, logging, nioCore,
                nioHTTP1, nioPosix, x509,
            ],
            path: "Benchmarks", swiftSettings: strict),
        .target(name: "Dice", path: "Tests/Dice", swiftSettings: strict),
        .target(name: "Eventually", path: "Tests/Eventually", swiftSettings: strict),
        .target(
            name: "Signing", dependencies: ["AppStoreFormats", asn1, crypto, x509],
            path: "Tests/Signing", swiftSettings: strict),
        .executableTarget(
            name: "Fuzz",
            dependencies: ["AppStoreFormats", "AppStoreTrust", "Intake", "Ledger", "Dice"],
            path: "Tests/Fuzz", exclude: ["Corpus"], swiftSettings: strict),
        tests("FuzzTests", ["Fuzz", "Eventually"]),
        tests("LedgerTests", ["Ledger", "Dice"], tables: true),
        tests("AppStoreFormatsTests", ["AppStoreFormats", "Dice"]),
        tests(
            "AppStoreTrustTests",
            [
                "AppStoreTrust", "AppStoreFormats", "Dice", "Signing", x509, asn1, crypto,
                cryptoExtras,
            ]),
        tests(
            "AppStoreClientTests",
            [
                "AppStoreClient", "AppStoreFormats", "OutgoingHTTP", crypto, httpClient,
                hummingbird, logging,
            ],
            tables: true),
        .target(
            name: "BucketDouble", dependencies: ["BucketClient", "Ledger"],
            path: "Tests/BucketDouble",
            swiftSettings: strict),
        tests("BucketClientTests", ["BucketClient", "BucketDouble", "Ledger", crypto]),
        tests("IntakeTests", ["Intake", "Ledger", "AppStoreFormats", "Dice"]),
        tests("CourierTests", ["Courier", "Eventually", crypto, hummingbird, logging, nioCore]),
        tests(
            "MailClientTests",
            ["MailClient", "Dice", "Signing", nioCore, nioPosix]),
        tests("ReportsTests", ["Reports", "Ledger", "Dice"]),
        tests("DashboardTests", ["Dashboard", contract]),
        tests(
            "HTTPBasicsTests",
            [
                "HTTPBasics", "Eventually", hummingbird, logging, nioCore, nioEmbedded,
                serviceLifecycle,
            ]),
        tests("RevenueCatWebhooksTests", ["RevenueCatWebhooks", "Ledger", contract]),
        tests("RevenueCatWireTests", ["RevenueCatWire", "RevenueCatWebhooks", "Ledger", contract]),
        .target(
            name: "RevenueCatDouble",
            dependencies: ["AppStoreFormats", "Simulator", hummingbird, logging, nioCore],
            path: "Tests/RevenueCatDouble", swiftSettings: strict),
        tests(
            "RevenueCatDoubleTests",
            ["RevenueCatDouble", "AppStoreFormats", "Dice", "Simulator", httpClient]),
        tests("TracesTests", ["Traces", "Eventually", tracing]),
        .target(
            name: "OpenIDProvider",
            dependencies: ["AppStoreFormats", "Ledger", "OpenIDConnect", crypto, cryptoExtras],
            path: "Tests/OpenIDProvider", swiftSettings: strict),
        tests(
            "OpenIDConnectTests",
            [
                "OpenIDConnect", "OpenIDProvider", "AppStoreFormats", "Eventually", "Ledger",
                httpClient, hummingbird, hummingbirdTesting, logging, nioCore,
            ]),
        .target(
            name: "SoftAuthenticator", dependencies: ["AppStoreFormats", crypto],
            path: "Tests/SoftAuthenticator", swiftSettings: strict),
        tests("PasskeysTests", ["Passkeys", "SoftAuthenticator", "AppStoreFormats", "Dice"]),
        tests("RehearsalTests", ["Rehearsal", "Ledger"]),
        tests(
            "RevenueCatClientTests",
            ["RevenueCatClient", "AppStoreFormats", "Ledger", "Rehearsal"]),
        .target(
            name: "PostgresCluster",
            dependencies: ["Storage", "StoragePostgres", "CLibPQ", "Eventually"],
            path: "Tests/PostgresCluster", swiftSettings: strict),
        tests(
            "StorageTests",
            [
                "Storage", "StorageSQLite", "StoragePostgres", "Engine", "PostgresCluster",
                "Ledger",
                "Reports", "Eventually", "Dice",
            ]),
        tests(
            "EngineTests",
            [
                "Engine", "AppStoreClient", "AppStoreFormats", "AppStoreTrust", "StorageSQLite",
                "Ledger", "Reports", "Signing", "Storage", crypto, logging,
            ]),
        tests(
            "HTTPServerTests",
            [
                "HTTPServer", "Engine", "Ledger", "AppStoreFormats", "AppStoreTrust", "Dice",
                "Eventually", "OpenIDConnect", "OpenIDProvider", "Passkeys", "PostgresCluster",
                "Reports", "Signing", "SoftAuthenticator", "Storage", "StoragePostgres",
                "StorageSQLite", contract, crypto, httpClient, hummingbird, hummingbirdTesting,
                logging, nioCore, nioEmbedded, nioHTTP1, nioPosix, nioSSL, nioTLS,
                serviceLifecycle, asn1, x509,
            ]),
        tests(
            "SimulatorTests",
            [
                "Simulator", "AppStoreFormats", "Eventually", x509, asn1, crypto, cryptoExtras,
                hummingbird, hummingbirdTesting, nioCore, nioPosix,
            ]),
        tests(
            "ProgramTests",
            [
                "Program", "AppStoreClient", "AppStoreFormats", "BucketClient", "BucketDouble",
                "Courier", "Dashboard", "Engine", "Dice", "Eventually", "HTTPServer", "Ledger",
                "MailClient", "OpenIDConnect", "OutgoingHTTP", "Passkeys", "Rehearsal",
                "Storage", "StorageSQLite", argumentParser, crypto, httpClient, logging,
            ]),
        tests("ConvergenceTests", ["Convergence", "Simulator"]),
        tests(
            "Stories",
            [
                "AppStoreClient", "AppStoreFormats", "AppStoreTrust", "BucketDouble",
                "Convergence", "Courier", "Dice", "Engine", "HTTPServer", "Ledger", "Eventually",
                "OutgoingHTTP", "PostgresCluster",
                "Program", "Rehearsal", "Reports", "RevenueCatClient", "RevenueCatDouble",
                "Signing", "Simulator", "Storage", "StoragePostgres", "StorageSQLite", "Traces",
                crypto, httpClient, logging,
            ], tables: true),
        tests("TidyTests", ["Eventually"]),
    ] as [Target]).filter(keep),
    swiftLanguageModes: [.v6]
)

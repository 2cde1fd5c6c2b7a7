/// Which modules may import which. SwiftPM does not enforce this: it compiles an import of a
/// sibling that is not declared.
enum Arrows {
    // Common groups of modules, so that each row below fits one line.
    private static let foundation: Set = ["Foundation", "FoundationEssentials"]
    private static let locks: Set = ["Synchronization"]
    private static let system: Set = ["Dispatch", "os", "Glibc", "Musl", "Darwin"]
    private static let web: Set = [
        "Hummingbird", "HummingbirdCore", "HTTPTypes", "NIOCore", "NIOFoundationCompat",
        "NIOHTTPTypes", "Logging",
    ]
    private static let certificates: Set = ["X509", "SwiftASN1", "Crypto"]

    /// The modules that each target may import. An import that is not listed is a violation, and so
    /// is a target without a row.
    static let table: [String: Set<String>] = sources.merging(tests) { one, _ in one }

    private static let sources: [String: Set<String>] = [
        "PerennialContract": [],
        // Pure. Decides on a device which rights are open.
        "AccessRules": ["PerennialContract"],
        // CryptoKit, Security and os are Apple's; on Linux, Crypto replaces CryptoKit.
        "Perennial": foundation.union([
            "AccessRules", "PerennialContract", "StoreKit", "Observation", "Combine",
            "FoundationNetworking", "Crypto", "CryptoKit", "Security", "os",
        ]),
        // The views of the SDK, on Apple's systems only.
        "PerennialUI": foundation.union([
            "Perennial", "SwiftUI", "Combine", "StoreKit", "_StoreKit_SwiftUI", "UIKit", "AppKit",
        ]),
        "StoreKit": foundation.union(["FoundationNetworking", "Synchronization", "Glibc"]),
        // For the tests of apps: a scripted store, and worlds.
        "PerennialTesting": foundation.union([
            "AccessRules", "Perennial", "PerennialContract", "StoreKit", "FoundationNetworking",
            "Synchronization", "Glibc", "Testing",
        ]),
        "Ledger": [],
        "Intake": ["Ledger", "AppStoreFormats"],
        "Reports": ["Ledger"],
        // Pure. Converts our events to RevenueCat's webhooks.
        "RevenueCatWebhooks": ["Ledger", "PerennialContract"],
        // Our values as the answers to RevenueCat's SDK, in the JSON of the webhooks: pure.
        "RevenueCatWire": ["Ledger", "RevenueCatWebhooks", "PerennialContract"],
        // Pure. Two systems' opinions about a customer → differences with their causes.
        "Rehearsal": ["Ledger"],
        // Pure, except for a lock. The spans of traces, and the form in which they are sent.
        "Traces": locks.union(["Tracing", "Instrumentation", "ServiceContextModule"]),
        // Reads a project at RevenueCat, for a rehearsal of the move away from it.
        "RevenueCatClient": [
            "AppStoreFormats", "Ledger", "OutgoingHTTP", "Rehearsal", "AsyncHTTPClient",
        ],
        // What the clients of other servers share: one function that sends, and the encoding of
        // addresses.
        "OutgoingHTTP": ["AsyncHTTPClient", "NIOCore", "NIOHTTP1"],
        "AppStoreFormats": foundation,
        // Receipts are signed with RSA, which is in the extras of Crypto.
        "AppStoreTrust": foundation.union(certificates).union(locks).union([
            "AppStoreFormats", "_CryptoExtras",
        ]),
        "AppStoreClient": locks.union([
            "AppStoreFormats", "OutgoingHTTP", "Crypto", "AsyncHTTPClient", "NIOCore",
        ]),
        // Reads and writes the objects in a bucket, by the API of Amazon S3.
        "BucketClient": ["Ledger", "OutgoingHTTP", "Crypto", "AsyncHTTPClient", "NIOCore"],
        // Host lookups run on their own threads, and the callers for a host share one lookup.
        "Courier": foundation.union(locks).union(["Crypto", "AsyncHTTPClient", "NIOCore"]),
        // SMTP over sockets, with TLS.
        "MailClient": foundation.union(locks).union(["NIOCore", "NIOPosix", "NIOSSL"]),
        // Signs operators in by a provider of OpenID Connect. ID tokens are signed with RSA, too.
        "OpenIDConnect": [
            "AppStoreFormats", "Ledger", "OutgoingHTTP", "Crypto", "_CryptoExtras",
            "AsyncHTTPClient", "NIOCore",
        ],
        // Verifies the answers of authenticators, whose keys may also be RSA keys.
        "Passkeys": ["AppStoreFormats", "Crypto", "_CryptoExtras"],
        // Several processors compute the timelines of many documents.
        "Storage": foundation.union(locks).union(["Ledger", "Reports", "Dispatch"]),
        "StorageSQLite": foundation.union(system).union(locks).union(["Storage", "CSQLite"]),
        "StoragePostgres": foundation.union(system).union(locks).union(["Storage", "CLibPQ"]),
        // Passwords are hashed with scrypt, which is in Crypto's extras, on separate threads. The
        // contract has the codes of failures.
        "Engine": foundation.union(locks).union([
            "Ledger", "Intake", "Reports", "AppStoreFormats", "AppStoreTrust", "AppStoreClient",
            "OpenIDConnect", "Passkeys", "Rehearsal", "Storage", "PerennialContract", "Crypto",
            "_CryptoExtras", "Dispatch", "Logging", "Traces", "Tracing",
        ]),
        "Dashboard": foundation.union(["PerennialContract"]),
        // The parts of HTTP that the server and the simulator both need. The module imports neither
        // of them.
        "HTTPBasics": web.union(locks).union(["Crypto", "ServiceLifecycle"]),
        // NIOHTTP1 provides the HTTP version and the parser's errors; the framework does not.
        // ServiceLifecycle signals that the server stops, so that waiting requests end. The server
        // encrypts connections, and checks its own certificate.
        "HTTPServer": foundation.union(web).union(locks).union([
            "NIOSSL", "NIOTLS", "SwiftASN1", "X509", "NIOHTTP1", "NIOHTTP2", "NIOHTTPTypesHTTP1",
            "ServiceLifecycle", "Engine", "HTTPBasics", "Ledger", "OpenIDConnect",
            "Passkeys", "PerennialContract", "Dashboard", "Reports", "RevenueCatWebhooks",
            "RevenueCatWire",
            "Storage", "Traces", "Tracing",
        ]),
        "Simulator": foundation.union(web).union(certificates).union(locks).union([
            "AppStoreFormats", "HTTPBasics", "_CryptoExtras",
        ]),
        // The proof. Only this target and Program import both Simulator and Engine.
        "Convergence": locks.union([
            "AppStoreClient", "AppStoreFormats", "AppStoreTrust", "Engine", "Ledger", "Reports",
            "Simulator", "Storage", "StorageSQLite", "Logging",
        ]),
        // The wiring. This target may import everything. Only the tests of Program and the stories
        // import Program.
        "Program": everything,
        // The target is beside Sources, and no target imports it. The benchmarks measure single
        // parts, such as the recorder of Engine, and the program from outside.
        "Benchmarks": everything.subtracting(["HTTPServer", "Convergence"]).union([
            "PostgresCluster", "CLibPQ", "CSQLite",
        ]),
    ]

    /// Every module of ours, and every product that Server/Package.swift names.
    private static let everything: Set<String> =
        foundation.union(locks).union(system).union(web).union(certificates).union([
            "CZlib", "PerennialContract", "Ledger", "Intake", "Reports", "RevenueCatWebhooks",
            "RevenueCatWire", "Rehearsal", "RevenueCatClient", "AppStoreFormats", "AppStoreTrust",
            "Traces", "Tracing",
            "AppStoreClient", "BucketClient", "Convergence", "Courier", "MailClient",
            "OpenIDConnect", "Passkeys", "Storage", "StorageSQLite", "StoragePostgres", "Engine",
            "Dashboard", "HTTPBasics", "HTTPServer", "OutgoingHTTP", "Simulator",
            "AsyncHTTPClient",
            "ArgumentParser",
            "Configuration", "ServiceLifecycle", "UnixSignals", "Yams", "NIOPosix", "NIOHTTP1",
            "SystemPackage",
        ])

    /// The tests of a target may import the target and the tools that they need.
    private static let tests: [String: Set<String>] = [
        "PerennialContractTests": testing(["PerennialContract"]),
        "PerennialTests": testing([
            "Perennial", "PerennialTesting", "AccessRules", "PerennialContract", "StoreKit",
            "Crypto", "CryptoKit", "Synchronization", "FoundationNetworking",
        ]),
        "PerennialTestingTests": testing(["Perennial", "PerennialTesting"]),
        // An app in its own process, which tests kill.
        "KilledApp": foundation.union(["Perennial", "PerennialTesting"]),
        "AccessRulesTests": testing(["AccessRules", "PerennialContract"]),
        "StoreKitTests": testing([
            "StoreKit", "FoundationNetworking", "Glibc", "Synchronization", "Eventually",
        ]),
        // Compiles the code on the pages, and runs it in a world.
        "DocsTests": testing(["PerennialTesting", "Eventually"]),
        "RageTests": testing([
            "RageCore", "Perennial", "StoreKit", "FoundationNetworking", "Synchronization",
        ]),
        // Random numbers from a seed, and random damage to bytes. The seed comes from the
        // environment.
        "Dice": foundation,
        // Waits for conditions and programs, with time limits.
        "Eventually": foundation.union(locks).union(["Dispatch"]),
        // Sends damaged documents to every reader of documents, in its own process.
        "Fuzz": foundation.union([
            "AppStoreFormats", "AppStoreTrust", "Intake", "Ledger", "Dice",
        ]),
        "FuzzTests": testing(["Fuzz", "Eventually"]),
        "LedgerTests": testing(["Ledger", "Dice"]),
        "BucketClientTests": testing([
            "BucketClient", "BucketDouble", "Crypto", "Ledger", "Synchronization",
        ]),
        // A bucket in memory.
        "BucketDouble": foundation.union(locks).union(["BucketClient", "Ledger"]),
        "IntakeTests": testing(["Intake", "Ledger", "AppStoreFormats", "Dice"]),
        "ReportsTests": testing(["Reports", "Ledger", "Dice"]),
        "RevenueCatWebhooksTests": testing(["RevenueCatWebhooks", "Ledger", "PerennialContract"]),
        "RevenueCatWireTests": testing([
            "RevenueCatWire", "RevenueCatWebhooks", "Ledger", "PerennialContract",
        ]),
        // RevenueCat, as its documentation describes it. Shares no code with the server.
        "RevenueCatDouble": locks.union(web).union(["AppStoreFormats", "Simulator"]),
        "RevenueCatDoubleTests": testing([
            "RevenueCatDouble", "AppStoreFormats", "Dice", "Simulator", "AsyncHTTPClient",
            "NIOCore",
        ]),
        "TracesTests": testing(["Traces", "Tracing", "ServiceContextModule", "Eventually"]),
        // A provider in this process, which tests let make mistakes. Signs tokens itself.
        "OpenIDProvider": foundation.union(locks).union([
            "AppStoreFormats", "Ledger", "OpenIDConnect", "Crypto", "_CryptoExtras",
        ]),
        "OpenIDConnectTests": testing([
            "OpenIDConnect", "OpenIDProvider", "AppStoreFormats", "Eventually", "Ledger",
            "AsyncHTTPClient", "HummingbirdTesting",
        ]).union(web).union(locks),
        // An authenticator in this process, which tests let make mistakes. Shares no code with the
        // verifier.
        "SoftAuthenticator": foundation.union(["AppStoreFormats", "Crypto"]),
        "PasskeysTests": testing([
            "Passkeys", "SoftAuthenticator", "AppStoreFormats", "Crypto", "Dice",
        ]),
        "RehearsalTests": testing(["Rehearsal", "Ledger"]),
        "RevenueCatClientTests": testing([
            "RevenueCatClient", "AppStoreFormats", "Ledger", "Rehearsal",
        ]),
        "AppStoreFormatsTests": testing(["AppStoreFormats", "Dice"]),
        // Signs as Apple does, but under its own root.
        "Signing": foundation.union(certificates).union(["AppStoreFormats"]),
        "AppStoreTrustTests": testing([
            "AppStoreTrust", "AppStoreFormats", "Dice", "Signing", "_CryptoExtras",
        ]).union(certificates),
        "AppStoreClientTests": testing([
            "AppStoreClient", "AppStoreFormats", "AsyncHTTPClient", "OutgoingHTTP",
        ])
        .union(certificates).union(web),
        "HTTPBasicsTests": testing(["HTTPBasics", "NIOEmbedded", "Eventually", "ServiceLifecycle"])
            .union(web).union(locks),
        "CourierTests": testing(["Courier", "Crypto", "Eventually"]).union(web),
        // A mail server that does wrong, as a script says.
        "MailClientTests": testing(["MailClient", "Dice", "Signing", "NIOCore", "NIOPosix"]),
        // Rows are filled by the decisions of Engine.
        "StorageTests": testing([
            "Storage", "StorageSQLite", "StoragePostgres", "Engine", "PostgresCluster", "Ledger",
            "Reports", "Eventually", "Dice",
        ]),
        // Starts throw-away servers for all tests that store something.
        "PostgresCluster": foundation.union(system).union(locks).union([
            "Storage", "StoragePostgres", "CLibPQ", "Eventually",
        ]),
        "EngineTests": testing([
            "Engine", "StorageSQLite", "Storage", "Ledger", "Intake", "AppStoreClient",
            "AppStoreFormats", "AppStoreTrust", "Logging", "Reports", "Signing",
        ]).union(certificates),
        "DashboardTests": testing(["Dashboard", "PerennialContract"]),
        "HTTPServerTests": testing([
            "Dashboard", "HTTPServer", "HTTPBasics", "HummingbirdTesting", "Engine", "Ledger",
            "PerennialContract", "Reports",
            "Storage", "StorageSQLite", "StoragePostgres", "PostgresCluster", "AppStoreFormats",
            "AppStoreTrust", "ServiceLifecycle", "Signing", "Dice", "Eventually",
            "AsyncHTTPClient", "OpenIDConnect", "OpenIDProvider", "Passkeys", "SoftAuthenticator",
            // The test moves this clock, to test the time limits of a connection.
            "NIOEmbedded", "NIOHTTP1",
            // A client with TLS that can send any bytes.
            "NIOPosix", "NIOSSL", "NIOTLS",
        ]).union(web).union(certificates),
        "SimulatorTests": testing([
            "Simulator", "HTTPBasics", "HummingbirdTesting", "AppStoreFormats", "AsyncHTTPClient",
            "_CryptoExtras", "Eventually",
            // A connection that the client cuts off.
            "NIOPosix",
        ]).union(web).union(certificates),
        "ConvergenceTests": testing(["Convergence", "Simulator", "AppStoreFormats"]),
        "ProgramTests": testing(["Program", "BucketDouble", "Dice", "Eventually"]).union(
            everything.subtracting(["Simulator"])),
        "Stories": testing([
            "BucketDouble", "Program", "PostgresCluster", "HummingbirdTesting", "Dice", "Signing",
            "Eventually",
            "RevenueCatDouble",
        ])
        .union(everything),
        "TidyTests": testing(["Eventually"]),
    ]

    private static func testing(_ modules: Set<String>) -> Set<String> {
        foundation.union(locks).union(system).union(modules).union(["Testing"])
    }

    /// Finds imports that the table does not allow, and targets that it does not contain.
    static func violations(in file: SourceFile) -> [Violation] {
        guard file.isSwift, let target = file.target else { return [] }
        guard let allowed = table[target] else {
            return [
                Violation(
                    path: file.path, line: 1, what: "The target \(target) is not in the table.",
                    remedy: "give it a row in Arrows.table, and in ARCHITECTURE.md where it is new."
                )
            ]
        }
        return imports(of: file).filter { !allowed.contains($0.module) }.map { line, module in
            Violation(
                path: file.path, line: line, what: "\(target) may not import \(module).",
                remedy: "move the code to a target that may, or pass what you need as an argument;"
                    + " a new arrow is a change of Arrows.table, with its reason.")
        }
    }

    /// Finds targets that import both Simulator and Engine. Only the wiring, Convergence, Stories
    /// and Benchmarks may, because in other targets, one of the two could come to depend on the
    /// other.
    static func meetings(in files: [SourceFile]) -> [Violation] {
        let apart: Set = ["Simulator", "Engine"]
        let byTarget = Dictionary(grouping: files.filter(\.isSwift)) { $0.target ?? "" }
        return byTarget.keys.sorted().compactMap { target -> Violation? in
            guard !["Stories", "Program", "Convergence", "Benchmarks"].contains(target),
                let files = byTarget[target],
                let last = files.last(where: { !apart.isDisjoint(with: modules(of: $0)) }),
                apart.isSubset(of: files.reduce(into: []) { $0.formUnion(modules(of: $1)) })
            else { return nil }
            return Violation(
                path: last.path, line: 1, what: "\(target) imports both Simulator and Engine.",
                remedy: "move the test to Stories, or let it make its documents by itself.")
        }
    }

    private static func modules(of file: SourceFile) -> Set<String> {
        Set(imports(of: file).map(\.module))
    }

    /// The imports of a file, with their lines. Recognises attributes, access levels, kinds and
    /// submodules.
    static func imports(of file: SourceFile) -> [(line: Int, module: String)] {
        file.codeLines.enumerated().compactMap { index, line in
            var words = line.split { " \t;".contains($0) }.map(String.init)
            while let word = words.first, word.hasPrefix("@") || accessWords.contains(word) {
                words.removeFirst()
            }
            guard words.first == "import", words.count > 1 else { return nil }
            let name = kindWords.contains(words[1]) && words.count > 2 ? words[2] : words[1]
            return name.split(separator: ".").first.map { (index + 1, String($0)) }
        }
    }

    private static let accessWords: Set = [
        "public", "package", "internal", "fileprivate", "private",
    ]
    private static let kindWords: Set = [
        "struct", "class", "enum", "protocol", "func", "var", "let", "typealias", "actor",
    ]
}

/// The rules for the name and the folder of a file, so that a reader can guess both.
enum Rooms {
    /// Swift files directly in one folder.
    static let folderFilesMax = 25

    /// The folders that every module of the server uses for the same subjects.
    private static let shared: Set = [
        "Access", "Purchases", "Customers", "Ownership", "Events", "Reconciliation", "Wallets",
        "Terms", "Grants", "Content", "Offers", "Consumption", "Delivery", "Legacy", "Import",
        "Money", "Accounts", "Operations", "Seats",
    ]
    /// The folders that only one module has.
    private static let own: [String: Set<String>] = [
        "AppStoreClient": ["Notifications", "RateLimits", "Transport"],
        "AppStoreFormats": [
            "Encoding", "JSON", "Notifications", "Receipts", "SalesReports", "StoreKitFile",
            "Transactions",
        ],
        "AppStoreTrust": ["Certificates", "Documents"],
        "Convergence": ["Faults", "Oracles", "Population", "Scripts", "Trial"],
        "Dashboard": ["Charts", "Markup", "Phone"],
        "HTTPServer": [
            "Connections", "Dashboard", "OpenAPI", "Problems", "Requests", "RevenueCat",
        ],
        "Ledger": ["Time"],
        "Program": [
            "Alerts", "Backups", "Buckets", "Commands", "Composition", "Configuration",
            "Development", "Workers",
        ],
        "Simulator": [
            "ControlPlane", "Devices", "Faults", "GroundTruth", "Kernel", "Lifecycle",
            "Notifications", "OCSP", "Population", "Receipts", "SalesReports", "Scenarios",
            "ServerAPI", "Shop", "Signing", "V1", "VerifyReceipt", "World",
        ],
        "Storage": ["Codec", "Documents", "Schema", "Sums"],
    ]

    private static let sources = "Server/Sources/"

    static func violations(among files: [SourceFile]) -> [Violation] {
        let paths = files.filter(\.isSwift).map(\.path)
        return crowdedFolders(paths) + unknownRooms(paths) + files.flatMap(misnamed)
    }

    private static func crowdedFolders(_ paths: [String]) -> [Violation] {
        Dictionary(grouping: paths, by: folder).filter { $0.value.count > folderFilesMax }
            .sorted { $0.key < $1.key }.map { folder, files in
                Violation(
                    path: folder, line: 1,
                    what: "\(files.count) files in one folder; at most \(folderFilesMax).",
                    remedy: "move them into rooms: the list is in TidyTests/Rooms.swift.")
            }
    }

    private static func unknownRooms(_ paths: [String]) -> [Violation] {
        paths.filter { $0.hasPrefix(sources) }.compactMap { path in
            let parts = path.dropFirst(sources.count).split(separator: "/").map(String.init)
            guard parts.count > 2 else { return nil }
            let rooms = shared.union(own[parts[0]] ?? [])
            guard let room = parts[1..<parts.count - 1].first(where: { !rooms.contains($0) })
            else { return nil }
            return Violation(
                path: path, line: 1, what: "\(parts[0]) has no room named \(room).",
                remedy: "use a room of the list in TidyTests/Rooms.swift, or add it there.")
        }
    }

    // MARK: - Files

    /// A file whose name has one of these endings covers one topic, and need not declare a type of
    /// that name.
    private static let topicEndings = ["Rows", "Routes", "Codec", "Events", "Tests", "Stories"]
    /// Nouns that end like a gerund or a participle.
    private static let nouns: Set = ["Booking", "Spelling", "String", "Messaging", "Verified"]
    /// Files that contain several small types, or one topic of a type that has many. Add a file
    /// only if necessary.
    private static let collections: Set = [
        "AccountTokens", "AdvancedCommerce", "AppStoreEnumerations", "ByteComparison",
        "Consumption", "CustomerErasure", "DatabaseCommands", "DatabaseCopy", "DocumentPartitions",
        "HTTPSender", "Identifiers", "Pagination",
        "Provenance", "ReconciliationSchedule", "StorefrontTable",
        "TimeTransitions", "VerifyReceiptFields",
    ]

    private static func misnamed(_ file: SourceFile) -> [Violation] {
        guard file.isSwift, file.path.hasPrefix(sources) else { return [] }
        let name = file.path.split(separator: "/").last.map(String.init) ?? file.path
        let chief = String(name.dropLast(".swift".count).prefix { $0 != "+" })
        let last = Names.words(of: chief).last ?? chief
        if last.hasSuffix("ing") || last.hasSuffix("ed"), !nouns.contains(last) {
            return [
                Violation(
                    path: file.path, line: 1, what: "\(chief) is no noun.",
                    remedy: "name the file for its chief type.")
            ]
        }
        guard !topicEndings.contains(where: chief.hasSuffix), !collections.contains(chief),
            !isCarried(chief, in: file)
        else { return [] }
        return [
            Violation(
                path: file.path, line: 1, what: "The file declares and extends no \(chief).",
                remedy: "name the file for its chief type, or Type+Topic for an extension.")
        ]
    }

    /// A simple word boundary. For Unicode, `A.B` is one word.
    private static func isCarried(_ chief: String, in file: SourceFile) -> Bool {
        let kinds = "struct|enum|class|actor|protocol|extension|typealias"
        guard let declared = try? Regex("\\b(\(kinds))\\s+(\\w+\\.)*\(chief)\\b") else {
            return false
        }
        return file.code.contains(declared.wordBoundaryKind(.simple))
    }

    private static func folder(of path: String) -> String {
        path.split(separator: "/").dropLast().joined(separator: "/")
    }
}

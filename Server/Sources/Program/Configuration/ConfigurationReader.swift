import AppStoreFormats
import Engine
import Ledger
import Yams

/// Parses a configuration in YAML and collects all problems, with their lines.
///
/// After a problem it continues without that value, so that one run shows every problem. An
/// unknown key is a problem, because a misspelt setting must never silently become a default.
struct ConfigurationReader {
    static let appIDCharactersMax = 40
    static let holdHoursRange = 0...384

    let environment: [String: String]
    let file: (String) -> [UInt8]?
    /// Returns the full path of a folder named in the file, or nil if it does not exist.
    let folder: (String) -> String?
    var complaints: [ConfigurationProblem] = []
    var warnings: [ConfigurationProblem] = []

    init(
        environment: [String: String], file: @escaping (String) -> [UInt8]?,
        folder: @escaping (String) -> String?
    ) {
        self.environment = environment
        self.file = file
        self.folder = folder
    }

    mutating func read(_ text: String) -> ConfigurationFile {
        var result = ConfigurationFile(apps: [], settings: [:], warnings: [])
        guard let root = node(of: text) else { return result }
        let members = members(
            of: root, known: ["apps", "settings"], in: "the configuration")
        if let apps = members["apps"] {
            result.apps = self.apps(apps)
        } else {
            complain(nil, "The configuration has no apps.", "Add `apps:` with at least one app.")
        }
        if let settings = members["settings"] { result.settings = self.settings(settings) }
        result.warnings = warnings
        return result
    }

    private mutating func node(of text: String) -> Node? {
        do {
            if let node = try Yams.compose(yaml: text) { return node }
            complain(nil, "The file is empty.", "Add `apps:` with at least one app.")
        } catch {
            let (line, problem) = Self.problem(of: error)
            complaints.append(
                ConfigurationProblem(
                    line: line, message: "This is not YAML: \(problem).",
                    remedy: "Check the indentation and the colons."))
        }
        return nil
    }

    private static func problem(of error: any Error) -> (line: Int?, text: String) {
        switch error {
        case YamlError.scanner(_, let problem, let mark, _),
            YamlError.parser(_, let problem, let mark, _),
            YamlError.composer(_, let problem, let mark, _):
            (mark.line, problem)
        case YamlError.duplicatedKeysInMapping(let keys, let context):
            (context.mark.line, "\(keys.sorted().joined(separator: ", ")) is defined twice")
        default: (nil, "\(error)")
        }
    }

    // MARK: - Apps

    private mutating func apps(_ node: Node) -> [AppConfiguration] {
        guard let mapping = node.mapping, !mapping.isEmpty else {
            complain(node, "apps is empty.", "Add one, with a name of your choice.")
            return []
        }
        var apps: [AppConfiguration] = []
        var bundles: Set<String> = []
        for (key, value) in mapping {
            guard let app = app(named: key, value) else { continue }
            if !bundles.insert(app.settings.bundleID).inserted {
                complain(
                    key, "\(app.settings.id) has the same bundle_id as another app.",
                    "Merge them into one app.")
            }
            apps.append(app)
        }
        return apps
    }

    private mutating func app(named key: Node, _ node: Node) -> AppConfiguration? {
        let name = text(key) ?? ""
        let isPlain = name.allSatisfy {
            $0.isASCII && ($0.isLowercase || $0.isNumber || $0 == "-" || $0 == "_")
        }
        guard !name.isEmpty, name.count <= Self.appIDCharactersMax, isPlain else {
            complain(
                key, "“\(name)” is not a valid app name.",
                "Use at most \(Self.appIDCharactersMax) of a-z 0-9 - _.")
            return nil
        }
        let members = members(
            of: node,
            known: [
                "bundle_id", "app_apple_id", "simulated", "products", "terms", "wallets",
                "content", "storekit", "access", "trust", "app_store", "shared_secret_file",
                "shared_secret_env", "verify_receipt_url", "forward", "forward_policy", "restore",
                "identity", "tokens", "consumption", "legacy", "documents_per_purchase_and_hour",
            ], in: "app \(name)")
        let isSimulated = members["simulated"].flatMap { bool($0) } ?? false
        let products = members["products"].map { self.products($0) } ?? []
        let restoring = members["restore"].map { restore($0) } ?? RestoreSettings()
        var app = AppConfiguration(
            settings: AppSettings(
                id: AppID(rawValue: name), bundleID: members["bundle_id"].flatMap(text) ?? "",
                appAppleID: members["app_apple_id"].flatMap { self.number($0) },
                isSimulated: isSimulated, entitlements: Self.entitlements(of: products),
                rules: members["access"].map { rules($0) } ?? AccessRules(),
                terms: terms(of: products, members["terms"]),
                wallets: wallets(of: products, members["wallets"]),
                forwards: forwards(members),
                restore: restoring.policies, sharing: restoring.sharing,
                accountTokens: members["identity"].flatMap { accountTokens($0) } ?? .customers,
                proof: members["identity"].flatMap { proof($0) },
                tokens: members["tokens"].map { tokens($0) } ?? TokenRules(),
                consumption: members["consumption"].map { consumption($0) }
                    ?? ConsumptionRules(),
                documentBudget: documentBudget(members)),
            extraRoots: [])
        if let content = members["content"] {
            app.settings.content = self.content(content, of: products, app.settings.terms.clock)
        }
        if app.settings.bundleID.isEmpty {
            complain(key, "App \(name) has no bundle_id.", "Add it, as App Store Connect shows it.")
        }
        if let trust = members["trust"] { read(trust: trust, into: &app) }
        if let storeKit = members["storekit"] {
            read(storeKit: storeKit, products: products, into: &app)
        }
        if let appStore = members["app_store"] { app.appStore = self.appStore(appStore, of: app) }
        if let shop = app.storeKit { app.settings.offers = OfferCatalogue(shop) }
        readSecret(members, into: &app)
        if let legacy = members["legacy"] { read(legacy: legacy, members, into: &app) }
        warnAboutMissingSettings(key, members, isSimulated: isSimulated)
        return app
    }

    /// At least the maximum of one request, because otherwise some requests would never be
    /// accepted.
    private static let documentsPerHourRange = PurchaseEvidence.documentsMax...1_000_000

    private mutating func documentBudget(_ members: [String: Node]) -> DocumentBudget {
        let perHour = number(
            "documents_per_purchase_and_hour", members, in: Self.documentsPerHourRange)
        return perHour.map { DocumentBudget(perHour: $0) } ?? DocumentBudget()
    }

    private mutating func warnAboutMissingSettings(
        _ key: Node, _ members: [String: Node], isSimulated: Bool
    ) {
        let name = text(key) ?? ""
        if members["app_apple_id"] == nil && !isSimulated {
            warn(
                key, "App \(name) has no app_apple_id.",
                "Add it, so that production notifications are checked against it.")
        }
        if members["app_store"] == nil && !hasSecret(members) && !isSimulated {
            warn(
                key, "App \(name) has no app_store.",
                "Add a key, so that purchases can be checked if notifications are missed.")
        }
        if members["products"] == nil {
            warn(key, "App \(name) has no products.", "Add them. Others give no access.")
        }
    }
}

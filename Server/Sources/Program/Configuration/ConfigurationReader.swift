import AppStoreFormats
import Engine
import Ledger
import Yams

/// Parses a configuration in YAML and collects all problems, with their lines.
///
/// After a problem, the reader continues without the faulty value, so that one run shows every
/// problem. An unknown key is a problem, because a misspelt setting must never silently become a
/// default.
struct ConfigurationReader {
    static let appIDCharactersMax = 40

    private let sources: ConfigurationSources
    /// The app that is being read. Nil outside of apps.
    private var app: AppID?
    /// The apps that have been read.
    private(set) var appIDs: Set<AppID> = []
    /// The products of the app that is being read.
    var products: [Product] = []
    var complaints: [ConfigurationProblem] = []
    var warnings: [ConfigurationProblem] = []
    var servingWarnings: [ConfigurationProblem] = []

    init(sources: ConfigurationSources) { self.sources = sources }

    /// The value of an environment variable. Returns nil if the variable is not set.
    func variable(_ name: String) -> String? { sources.variable(app, name) }

    /// The full path of a folder. Returns nil if the folder does not exist.
    func folder(_ name: String) -> String? { sources.folder(app, name) }

    /// The contents of a file. Returns nil if the file does not exist.
    func file(_ name: String) -> [UInt8]? { sources.file(app, name) }

    mutating func read(_ text: String) -> ConfigurationFile {
        var result = ConfigurationFile(apps: [], settings: [:], warnings: [])
        guard let root = node(of: text) else { return result }
        let members = members(
            of: root,
            known: [
                "apps", "settings", "dashboard", "tls", "backup", "alerts", "limits", "traces",
            ],
            in: "the configuration")
        if let apps = members["apps"] {
            result.apps = self.apps(apps)
            appIDs = Set(result.apps.map(\.settings.id))
        } else {
            complain(nil, "The configuration has no apps.", "Add `apps:` with at least one app.")
        }
        if let settings = members["settings"] { result.settings = self.settings(settings) }
        if let dashboard = members["dashboard"] {
            result.dashboard = self.dashboard(dashboard, hasTLS: members["tls"] != nil)
        }
        if let tls = members["tls"] { result.tls = self.tls(tls) }
        if let backup = members["backup"] {
            result.backup = BackupSettings(backup, by: &self)
        }
        if let alerts = members["alerts"] { result.alerts = self.alerts(alerts) }
        if let limits = members["limits"] {
            read(limits, LimitSettings.keys, into: &result.limits, in: "limits")
        }
        if let traces = members["traces"] { result.traces = TraceSettings(traces, by: &self) }
        result.warnings = warnings.inFileOrder
        result.servingWarnings = servingWarnings.inFileOrder
        return result
    }

    private mutating func node(of text: String) -> Node? {
        do {
            if let node = try Yams.compose(yaml: text) { return node }
            complain(nil, "The file is empty.", "Add `apps:` with at least one app.")
        } catch {
            complaints.append(YAMLProblem(error, in: text).problem)
        }
        return nil
    }

    // MARK: - Apps

    private mutating func apps(_ node: Node) -> [AppConfiguration] {
        guard let mapping = node.mapping, !mapping.isEmpty else {
            complain(node, "apps is empty.", "Add an app, with a name of your choice.")
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
            if let other = apps.first(where: { $0.settings.sharesRevenueCatKey(app.settings) }) {
                complain(
                    key,
                    "\(app.settings.id) has a key of revenuecat that \(other.settings.id) has.",
                    "List each key under one app only. The key decides which app a request is for.")
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
        products = []
        let id = AppID(rawValue: name)
        self.app = id
        defer { self.app = nil }
        var app = AppConfiguration(
            settings: AppSettings(id: id, bundleID: "", entitlements: [:]), extraRoots: [])
        let found = read(node, Self.appKeys, into: &app, in: "app \(name)")
        if app.settings.bundleID.isEmpty {
            complain(key, "App \(name) has no bundle_id.", "Add it, as App Store Connect shows it.")
        }
        app.settings.money.vendorNumber = app.appStore?.reports?.vendorNumber
        readSecret(found, into: &app)
        check(app, found)
        warnAboutMissingSettings(key, found, isSimulated: app.settings.isSimulated)
        return app
    }

    /// Checks keys that depend on each other.
    private mutating func check(_ app: AppConfiguration, _ found: [String: Node]) {
        checkRevenueCat(app.settings, at: found["revenuecat"])
        if let policy = found["forward_policy"], found["forward"] == nil {
            complain(
                policy, "There is a forward_policy but no forwarding address.",
                "Add `forward:` with at least one url, or leave out the policy.")
        }
        if !app.settings.acceptsLegacy, hasSecret(found) {
            complain(
                found["legacy"], "There is a shared secret, but `legacy: false` makes it useless.",
                "Leave out one of them.")
        }
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
            servingWarnings.append(
                ConfigurationProblem(
                    line: key.mark?.line, message: "App \(name) has no app_store.",
                    remedy: "Add `app_store:` with an In-App Purchase key, so that purchases can "
                        + "be checked if notifications are missed."))
        }
        if members["products"] == nil {
            warn(
                key, "App \(name) lists no products, so no purchase gives access.",
                "Add `products:`.")
        }
    }
}

import Engine
import Ledger
import Yams

/// Parses the settings of an app that still contains RevenueCat's SDK.
extension ConfigurationReader {
    private static let keysMax = 20
    private static let keyCharacters = 8...128
    private static let packageCharactersMax = 100
    private static let packagesMax = 1_000
    static let revenueCatKeys: [Key<RevenueCatSettings>] = [
        Key("keys", \.keys) { $0.publicKeys($1) },
        Key("packages", \.packages) { $0.packages($1) },
        Key("support_email", \.supportEmail) { $0.nonEmptyText($1) },
        Key("project", \.project) { $0.nonEmptyText($1) },
        Key("unproven_attributes", \.takesUnprovenAttributes) { $0.bool($1) },
    ]

    /// Reads `revenuecat: {keys: [appl_…], packages: {pro.monthly: $rc_monthly}}`.
    mutating func read(revenueCat node: Node, into app: inout AppSettings) {
        let found = read(node, Self.revenueCatKeys, into: &app.revenueCat, in: "revenuecat")
        if found["keys"] == nil {
            complain(
                node, "revenuecat has no keys.",
                "Add `keys: [appl_…]`, with the public key that is in the app.")
        }
    }

    /// Warns about other settings with which the SDK does not work.
    mutating func checkRevenueCat(_ app: AppSettings, at node: Node?) {
        guard let node else { return }
        if app.offerings.placements.isEmpty {
            warn(
                node, "App \(app.id) has no placements, so RevenueCat's SDK finds no offerings.",
                "Add `placements:`. Each becomes an offering.")
        }
        if app.proof != nil {
            warn(
                node, "RevenueCat's SDK sends proofs of identity only in token mode.",
                "In its usual mode, it can serve only customers without log-in. Leave out `proof` "
                    + "below identity until the app has Perennial's SDK, or use token mode with "
                    + "`proof: jwt`.")
        }
    }

    /// Parses public keys. Refuses a secret key, because it would be in every copy of the app.
    private mutating func publicKeys(_ node: Node) -> Set<String>? {
        let keys = names(node, of: "keys")
        if keys.count > Self.keysMax {
            complain(node, "There are too many keys.", "Use at most \(Self.keysMax).")
        }
        for key in keys {
            let isPlain = key.utf8.allSatisfy { (0x21...0x7E).contains($0) }
            guard isPlain, Self.keyCharacters.contains(key.count) else {
                complain(
                    node, "A key is not one of RevenueCat's.",
                    "Copy the public key, such as `appl_…`, from the code of the app.")
                continue
            }
            guard !key.hasPrefix("sk_"), !key.hasPrefix("test_") else {
                complain(
                    node, "A key is secret, or one of RevenueCat's Test Store.",
                    "Use the public key for the App Store, such as `appl_…`.")
                continue
            }
        }
        return Set(keys)
    }

    private mutating func packages(_ node: Node) -> [ProductID: String]? {
        guard let mapping = node.mapping, mapping.count <= Self.packagesMax else {
            complain(
                node, "packages must be a mapping of products.",
                "Write `pro.monthly: $rc_monthly` lines, at most \(Self.packagesMax).")
            return nil
        }
        var packages: [ProductID: String] = [:]
        for (key, value) in mapping {
            guard let product = nonEmptyText(key), let package = nonEmptyText(value),
                package.count <= Self.packageCharactersMax
            else {
                complain(
                    key, "This is not the package of a product.",
                    "Write `pro.monthly: $rc_monthly`.")
                continue
            }
            packages[ProductID(rawValue: product)] = package
        }
        return packages
    }
}

extension AppSettings {
    /// Whether the two apps have a public key in common. With this key, a request could be for
    /// either app.
    func sharesRevenueCatKey(_ other: AppSettings) -> Bool {
        !revenueCat.keys.isDisjoint(with: other.revenueCat.keys)
    }

    var revenueCatLines: [String] {
        revenueCat.keys.map { "RevenueCat's key \($0)" }
            + revenueCat.packages.map { "RevenueCat's package \($1) is \($0)" }
            + (revenueCat.supportEmail.map { ["RevenueCat's customer center writes to \($0)"] }
                ?? [])
            + (revenueCat.project.map { ["RevenueCat's project \($0)"] } ?? [])
            + (revenueCat.takesUnprovenAttributes
                ? ["RevenueCat's SDK may set attributes of customers with log-in"] : [])
    }
}

import Engine
import Ledger
import Storage
import Yams

extension ConfigurationReader {
    private static let holdHoursRange = 0...384
    /// The range of documents per hour. The minimum is the maximum number of documents of one
    /// request, because a lower limit would refuse some requests forever.
    private static let documentsPerHourRange = PurchaseEvidence.documentsMax...1_000_000

    static let appKeys: [Key<AppConfiguration>] = [
        Key("bundle_id", \.settings.bundleID) { $0.bundleID($1) }
            .compared { ["bundle_id \($0.bundleID)"] },
        Key("app_apple_id", \.settings.appAppleID) { $0.number($1) }
            .compared { $0.appAppleID.map { ["app_apple_id \($0)"] } ?? [] },
        Key("simulated", \.settings.isSimulated) { $0.bool($1) }
            .compared { $0.isSimulated ? ["simulated"] : [] },
        Key("products") { $0.read(products: $1, into: &$2.settings) }
            .compared { $0.productLines },
        Key("placements") { $2.settings.offerings.placements = $0.placements($1) }
            .compared { $0.placementLines },
        Key("paid_app") { $0.read(paidApp: $1, into: &$2.settings) }
            .compared { $0.paidAppLines },
        Key("terms", \.settings, termKeys).compared { $0.termLines },
        Key("wallets") { $0.read(wallets: $1, into: &$2.settings.wallets) }
            .compared { $0.walletLines },
        Key("money", \.settings.money, moneyKeys).compared { $0.moneyLines },
        Key("content") { $0.read(content: $1, into: &$2.settings) }
            .compared { $0.contentLines },
        Key("storekit") { $0.read(storeKit: $1, into: &$2) },
        Key("access", \.settings.rules, accessKeys).compared {
            ["unconfirmed_hold_hours \($0.rules.unconfirmedHold.components.seconds / 3600)"]
        },
        Key("trust") { $0.read(trust: $1, into: &$2) },
        Key("app_store") { $2.appStore = $0.appStore($1, of: $2) },
        // These three keys are read together.
        Key("shared_secret_file").compared { $0.sharedSecret == nil ? [] : ["a shared secret"] },
        Key("shared_secret_env"),
        Key("verify_receipt_url"),
        Key("forward") { $2.settings.forwards.targets = $0.targets($1) }
            .compared { $0.forwardLines },
        Key("forward_policy", \.settings.forwards.policy) { $0.word($1, "not a forward_policy") }
            .compared { $0.forwardPolicyLines },
        Key("webhooks") { $0.read(webhooks: $1, into: &$2.settings) }
            .compared { $0.webhookLines },
        Key("restore") { $0.read(restore: $1, into: &$2.settings) }
            .compared { $0.restoreLines },
        Key("identity") { $0.read(identity: $1, into: &$2.settings) }
            .compared { $0.identityLines },
        Key("tokens") { $2.settings.tokens = $0.tokens($1) }.compared { [$0.tokenLine] },
        Key("revenuecat") { $0.read(revenueCat: $1, into: &$2.settings) }
            .compared { $0.revenueCatLines },
        Key("consumption", \.settings.consumption, consumptionKeys)
            .compared { $0.consumptionLines },
        Key("seats", \.settings.seatReports, seatKeys).compared { $0.seatLines },
        Key("retention", \.settings.retention, retentionKeys).compared { $0.retentionLines },
        Key("legacy", \.settings.acceptsLegacy) { $0.bool($1) }
            .compared { $0.acceptsLegacy ? [] : ["no evidence from before StoreKit 2"] },
        Key(
            "documents_per_purchase_and_hour", \.settings.documentBudget,
            in: documentsPerHourRange
        ) { DocumentBudget(perHour: $0) }
        .compared {
            $0.documentBudget == DocumentBudget()
                ? [] : ["documents_per_purchase_and_hour \($0.documentBudget.perHour)"]
        },
    ]

    static let accessKeys: [Key<AccessRules>] = [
        Key("unconfirmed_hold_hours", \.unconfirmedHold, in: holdHoursRange) { .hours($0) }
    ]

    /// Reads a bundle id. If the id has a wrong character, reports a complaint but returns the id:
    /// otherwise the app would also be reported as an app without a bundle id.
    fileprivate mutating func bundleID(_ node: Node) -> String? {
        guard let id = nonEmptyText(node) else { return nil }
        let isPlain = id.allSatisfy {
            $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-" || $0 == ".")
        }
        if !isPlain {
            complain(
                node, "“\(id)” is not a bundle id.",
                "Use letters, digits, hyphens and periods only, as App Store Connect shows it.")
        }
        return id
    }
}

extension AppSettings {
    /// Everything that affects customers, as lines of text. The difference of two settings is the
    /// difference of their lines. The lines say whether there is a secret, but never contain it.
    var lines: [String] {
        ConfigurationReader.appKeys.flatMap { $0.lines?(self) ?? [] }.sorted()
    }
}

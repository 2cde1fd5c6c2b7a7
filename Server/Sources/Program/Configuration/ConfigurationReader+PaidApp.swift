import Engine
import Ledger
import Yams

extension ConfigurationReader {
    /// The members of `paid_app`, before it is checked that all required members are present.
    struct PaidApp: Sendable {
        var before: AppVersion?
        var beforeOnMac: AppVersion?
        var entitlements: [String] = []
        var countsInSandbox = false
    }

    static let paidAppKeys: [Key<PaidApp>] = [
        Key("before", \.before) { $0.version($1) },
        Key("before_on_mac", \.beforeOnMac) { $0.version($1) },
        Key("entitlements", \.entitlements) { $0.names($1, of: "entitlements") },
        Key("sandbox", \.countsInSandbox) { $0.bool($1) },
    ]

    /// Parses `paid_app: {before: "3.0", entitlements: [pro]}`.
    mutating func read(paidApp node: Node, into settings: inout AppSettings) {
        var found = PaidApp()
        read(node, Self.paidAppKeys, into: &found, in: "paid_app")
        guard let before = found.before, !found.entitlements.isEmpty else {
            complain(
                node, "paid_app needs before and entitlements.",
                "Write `paid_app: {before: \"3.0\", entitlements: [pro]}`.")
            return
        }
        let rule = PaidAppRule(
            before: before, beforeOnMac: found.beforeOnMac,
            entitlements: Set(found.entitlements.map(EntitlementID.init(rawValue:))),
            countsInSandbox: found.countsInSandbox)
        // A paid app may give an entitlement that no product gives. This function adds that
        // entitlement.
        for entitlement in rule.entitlements where settings.entitlements[entitlement] == nil {
            settings.entitlements[entitlement] = []
        }
        settings.paidApp = rule
    }

    private mutating func version(_ node: Node) -> AppVersion? {
        if let version = text(node).flatMap({ AppVersion($0) }) { return version }
        complain(
            node, "“\(text(node) ?? "…")” is not a version.",
            "Use numbers with dots between them, such as \"3.0\".")
        return nil
    }
}

extension AppSettings {
    var paidAppLines: [String] {
        guard let paidApp else { return [] }
        let mac = paidApp.beforeOnMac.map { ", on Macs before \($0)" } ?? ""
        let places = paidApp.countsInSandbox ? ", in the sandbox, too" : ""
        return paidApp.entitlements.map {
            "the app bought before version \(paidApp.before)\(mac) gives \($0)\(places)"
        }
    }
}

import AppStoreFormats
import Engine
import Foundation
import Ledger
import Yams

/// Parses an app's products, and the terms of those that do not renew.
extension ConfigurationReader {
    /// The maximum months of a term, and the maximum days of a term, also as bonus.
    static let termMonthsMax = 1200
    static let termDaysMax = 36_500
    /// The maximum number of reminders per product, and how long before the end they may be.
    static let remindersMax = 10
    static let reminderDaysMax = 366

    struct Product {
        var node: Node
        var id: String
        var entitlements: [String] = []
        var term: Term.Length?
        /// Terms of one chain follow each other.
        var chain: String?
        /// Days before the end of a term. Nil: the app's default applies.
        var reminders: [Int]?
        /// The amount that one purchase credits to each wallet.
        var credits: [CurrencyID: Int64] = [:]
    }

    mutating func products(_ node: Node) -> [Product] {
        guard let mapping = node.mapping else {
            complain(
                node, "products must be a mapping.", "Write `PRODUCT_ID: [ENTITLEMENT]` lines.")
            return []
        }
        return mapping.map { key, value in product(key, value) }
    }

    private mutating func product(_ key: Node, _ value: Node) -> Product {
        var product = Product(node: key, id: text(key) ?? "")
        guard value.mapping != nil else {
            product.entitlements = names(value, of: "entitlements")
            return product
        }
        let members = members(
            of: value,
            known: ["entitlements", "term", "bonus_days", "chain", "reminders", "credits"],
            in: "product \(product.id)")
        product.entitlements =
            members["entitlements"].map { names($0, of: "entitlements") } ?? []
        product.term = members["term"].flatMap { length($0) }
        product.chain = members["chain"].flatMap(text)
        if let credits = members["credits"] { product.credits = self.credits(credits) }
        if let bonus = members["bonus_days"] { add(bonus, to: &product) }
        product.reminders = members["reminders"].map { reminders($0) }
        if product.term == nil && members["term"] == nil, let chain = members["chain"] {
            complain(
                chain, "\(product.id) has a chain but no term.",
                "Add its duration, such as `term: P1M`, or leave out chain.")
        }
        return product
    }

    private mutating func add(_ bonus: Node, to product: inout Product) {
        guard let days = number(bonus).flatMap({ Int(exactly: $0) }) else { return }
        guard days <= Self.termDaysMax, product.term != nil else {
            return complain(
                bonus, "bonus_days is not valid for \(product.id).",
                "Use it with `term`, with at most \(Self.termDaysMax).")
        }
        product.term?.days += days
    }

    /// Parses a duration: `P1M`, `P1Y`, `P2W`, `P30D`, or several units together.
    private mutating func length(_ node: Node) -> Term.Length? {
        let pattern = #/P(?:(\d{1,4})Y)?(?:(\d{1,4})M)?(?:(\d{1,4})W)?(?:(\d{1,5})D)?/#
        let found = text(node)?.wholeMatch(of: pattern)?.output
        let counts = [found?.1, found?.2, found?.3, found?.4].map { part in
            part.flatMap { $0 }.flatMap { Int($0) } ?? 0
        }
        let length = Term.Length(
            months: counts[0] * 12 + counts[1], days: counts[2] * 7 + counts[3])
        guard found != nil, length.months + length.days > 0, length.months <= Self.termMonthsMax,
            length.days <= Self.termDaysMax
        else {
            complain(
                node, "“\(text(node) ?? "…")” is not a duration of a term.",
                "Use years, months, weeks, or days as in ISO 8601: P1Y, P6M, P2W, P30D.")
            return nil
        }
        return length
    }

    // MARK: - Terms

    /// Products with the same entitlements form one chain, unless they name a chain.
    mutating func terms(of products: [Product], _ node: Node?) -> TermRules {
        var rules = TermRules.none
        for product in products {
            guard let length = product.term else { continue }
            let chain = product.chain ?? product.entitlements.sorted().joined(separator: ", ")
            rules.products[ProductID(rawValue: product.id)] = TermRules.Product(
                length: length, chain: chain.isEmpty ? product.id : chain,
                reminders: product.reminders ?? [])
        }
        guard let node else { return rules }
        let members = members(
            of: node, known: ["time_zone", "overlap", "reminders"], in: "terms")
        if let usual = members["reminders"].map({ reminders($0) }) {
            for product in products where product.reminders == nil {
                rules.products[ProductID(rawValue: product.id)]?.reminders = usual
            }
        }
        if let zone = members["time_zone"], let clock = clock(zone) { rules.clock = clock }
        if let overlap = members["overlap"],
            let known = word(overlap, TermRules.Overlap.self, "not an overlap rule")
        {
            rules.overlap = known
        }
        return rules
    }

    /// Parses `[P7D, P1D]`. Returns the days, longest first.
    private mutating func reminders(_ node: Node) -> [Int] {
        guard let nodes = node.sequence, nodes.count <= Self.remindersMax else {
            complain(
                node, "reminders must be a list of durations.",
                "Use at most \(Self.remindersMax), such as [P7D, P1D]; [] for none.")
            return []
        }
        var days: Set<Int> = []
        for node in nodes {
            guard let length = length(node) else { continue }
            guard length.months == 0, length.days <= Self.reminderDaysMax else {
                complain(
                    node, "“\(text(node) ?? "…")” is not a valid reminder.",
                    "Use days or weeks, at most P\(Self.reminderDaysMax)D.")
                continue
            }
            days.insert(length.days)
        }
        return days.sorted(by: >)
    }

    private mutating func clock(_ node: Node) -> WallClock? {
        let name = text(node) ?? ""
        if let zone = TimeZone(identifier: name) { return WallClock(zone) }
        complain(
            node, "The time zone “\(name)” is unknown.",
            Spelling.remedy(
                for: name, among: TimeZone.knownTimeZoneIdentifiers,
                else: "Use a name such as Europe/Vienna, or UTC."))
        return nil
    }

    private mutating func warn(
        aboutTermsOf products: [Product], in path: String, _ sold: [StoreKitProduct]
    ) {
        let types = Dictionary(sold.map { ($0.id, $0.type) }) { first, _ in first }
        for product in products {
            let isTerm = types[product.id] == .nonRenewing
            if isTerm && product.term == nil && !product.entitlements.isEmpty {
                warn(
                    product.node,
                    "\(product.id) does not renew and has no term: it gives no access.",
                    "Add its duration, such as `term: P1M`.")
            }
            if !isTerm && types[product.id] != nil && product.term != nil {
                warn(
                    product.node, "\(product.id) has a term, but \(path) says it needs none.",
                    "Leave out term: only non-renewing products have one.")
            }
        }
    }

    // MARK: - What products give

    static func entitlements(of products: [Product]) -> [EntitlementID: Set<ProductID>] {
        var result: [EntitlementID: Set<ProductID>] = [:]
        for product in products {
            for name in product.entitlements {
                result[EntitlementID(rawValue: name), default: []].insert(
                    ProductID(rawValue: product.id))
            }
        }
        return result
    }

    mutating func read(
        storeKit node: Node, products: [Product], into app: inout AppConfiguration
    ) {
        guard let path = text(node) else { return }
        guard let bytes = file(path) else {
            complain(node, "\(path) cannot be read.", "Name it relative to this file's folder.")
            return
        }
        do {
            app.storeKit = try StoreKitFile(parsing: bytes)
        } catch {
            complain(
                node, "\(path) is no StoreKit configuration: \(error).", "Save it in Xcode again.")
        }
        warn(aboutTermsOf: products, in: path, app.storeKit?.products ?? [])
        guard let known = app.storeKit?.products.map(\.id) else { return }
        for product in products where !known.contains(product.id) {
            warn(
                product.node, "\(path) has no product \(product.id).",
                Spelling.remedy(
                    for: product.id, among: known,
                    else: "It has \(known.joined(separator: ", "))."))
        }
    }
}

import AppStoreFormats
import Engine
import Foundation
import Ledger
import Yams

/// The products of an app, and the times that those last which do not renew.
extension ConfigurationReader {
    /// Months of one term, and days of one term or on top of it.
    static let termMonthsMax = 1200
    static let termDaysMax = 36_500
    /// Before the end of one term.
    static let remindersMax = 10
    static let reminderDaysMax = 366

    struct Product {
        var node: Node
        var id: String
        var entitlements: [String] = []
        var term: Term.Length?
        /// Terms of one chain follow each other.
        var chain: String?
        /// Days before its end; nil: as the app says.
        var reminders: [Int]?
        /// What one of it puts into which wallet.
        var credits: [CurrencyID: Int64] = [:]
    }

    mutating func products(_ node: Node) -> [Product] {
        guard let mapping = node.mapping else {
            complain(
                node, "products is no list of names.", "Write `PRODUCT_ID: [ENTITLEMENT]` lines.")
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
                chain, "\(product.id) has a chain and no term.",
                "Say how long it lasts, such as `term: P1M`; or leave chain out.")
        }
        return product
    }

    private mutating func add(_ bonus: Node, to product: inout Product) {
        guard let days = number(bonus).flatMap({ Int(exactly: $0) }) else { return }
        guard days <= Self.termDaysMax, product.term != nil else {
            return complain(
                bonus, "bonus_days fits no term of \(product.id).",
                "Use it with `term`, and at most \(Self.termDaysMax).")
        }
        product.term?.days += days
    }

    /// `P1M`, `P1Y`, `P2W`, `P30D`, or several of these.
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
                node, "“\(text(node) ?? "…")” is no length of a term.",
                "Write years, months, weeks, days as ISO 8601 does: P1Y, P6M, P2W, P30D.")
            return nil
        }
        return length
    }

    // MARK: - Terms

    /// Products that give the same entitlements are one chain, unless they say otherwise.
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
            let known = word(overlap, TermRules.Overlap.self, "no overlap")
        {
            rules.overlap = known
        }
        return rules
    }

    /// `[P7D, P1D]`: the days of each, the longest first.
    private mutating func reminders(_ node: Node) -> [Int] {
        guard let nodes = node.sequence, nodes.count <= Self.remindersMax else {
            complain(
                node, "reminders is no list of times ahead.",
                "Write at most \(Self.remindersMax), such as [P7D, P1D]; [] for none.")
            return []
        }
        var days: Set<Int> = []
        for node in nodes {
            guard let length = length(node) else { continue }
            guard length.months == 0, length.days <= Self.reminderDaysMax else {
                complain(
                    node, "“\(text(node) ?? "…")” is no time ahead of an end.",
                    "Write days or weeks, P\(Self.reminderDaysMax)D at most.")
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
            node, "There is no time zone “\(name)”.",
            Spelling.remedy(
                for: name, among: TimeZone.knownTimeZoneIdentifiers,
                else: "Write a name such as Europe/Vienna, or UTC."))
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
                    "\(product.id) does not renew, and has no term: it opens nothing.",
                    "Say how long it lasts, such as `term: P1M`.")
            }
            if !isTerm && types[product.id] != nil && product.term != nil {
                warn(
                    product.node, "\(product.id) has a term, and \(path) says that it needs none.",
                    "Leave term out: only what does not renew lasts as long as you say.")
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

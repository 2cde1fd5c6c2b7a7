import AppStoreFormats
import Engine
import Foundation
import Ledger
import Yams

/// Parses an app's products, and the terms of those that do not renew.
extension ConfigurationReader {
    /// The maximum number of months of a term, and of its days, including the bonus.
    static let termMonthsMax = 1200
    static let termDaysMax = 36_500
    /// The maximum number of reminders per product, and the maximum number of days before the end.
    static let remindersMax = 10
    static let reminderDaysMax = 366

    struct Product {
        var node: Node
        var id: String
        var entitlements: [String] = []
        var term: Term.Length?
        /// The bonus days among the term's days.
        var bonusDays = 0
        /// The name of the product's chain: the terms of one chain follow each other.
        var chain: String?
        /// When reminders are emitted, in days before the end of a term. Nil if the app's default
        /// applies.
        var reminders: [Int]?
        /// The amount that one purchase credits to each wallet.
        var credits: [CurrencyID: Int64] = [:]
    }

    static let productKeys: [Key<Product>] = [
        Key("entitlements") { $2.entitlements = $0.names($1, of: "entitlements") },
        Key("term") { $2.term = $0.length($1) },
        Key("bonus_days") { $0.add($1, to: &$2) },
        Key("chain") { $2.chain = $0.text($1) },
        Key("reminders") { $2.reminders = $0.reminders($1) },
        Key("credits") { $2.credits = $0.credits($1) },
    ]

    /// Reads the entitlements of the products. Products with the same entitlements form one chain,
    /// unless they name a chain.
    mutating func read(products node: Node, into app: inout AppSettings) {
        products = parse(products: node)
        for product in products {
            let id = ProductID(rawValue: product.id)
            app.listedProducts.insert(id)
            for name in product.entitlements {
                app.entitlements[EntitlementID(rawValue: name), default: []].insert(id)
            }
            if !product.credits.isEmpty { app.wallets.credits[id] = product.credits }
            guard let length = product.term else { continue }
            let chain = product.chain ?? product.entitlements.sorted().joined(separator: ", ")
            app.terms.products[id] = TermRules.Product(
                length: length, bonusDays: product.bonusDays,
                chain: chain.isEmpty ? product.id : chain,
                reminders: product.reminders ?? [])
        }
    }

    private mutating func parse(products node: Node) -> [Product] {
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
        let found = read(
            value, Self.productKeys, into: &product, in: "product \(product.id)")
        if let chain = found["chain"], found["term"] == nil {
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
                "Use bonus_days together with `term`, and at most \(Self.termDaysMax) days.")
        }
        product.term?.days += days
        product.bonusDays = days
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

    static let termKeys: [Key<AppSettings>] = [
        Key("time_zone", \.terms.clock) { $0.clock($1) },
        Key("overlap", \.terms.overlap) { $0.word($1, "not an overlap rule") },
        Key("reminders") { reader, node, app in
            let usual = reader.reminders(node)
            for product in reader.products where product.reminders == nil {
                app.terms.products[ProductID(rawValue: product.id)]?.reminders = usual
            }
        },
    ]

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

    mutating func clock(_ node: Node) -> WallClock? {
        let name = text(node) ?? ""
        if let zone = TimeZone(identifier: name) { return WallClock(zone) }
        complain(
            node, "The time zone “\(name)” is unknown.",
            Spelling.remedy(
                for: name, among: TimeZone.knownTimeZoneIdentifiers,
                else: "Use a name such as Europe/Vienna, or UTC."))
        return nil
    }

    private mutating func warnAboutTerms(in path: String, _ sold: [StoreKitProduct]) {
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

    // MARK: - What the shop sells

    mutating func read(storeKit node: Node, into app: inout AppConfiguration) {
        guard let path = text(node) else { return }
        guard let bytes = file(path) else {
            complain(node, "\(path) cannot be read.", "Name it relative to this file's folder.")
            return
        }
        let shop: StoreKitFile
        do { shop = try StoreKitFile(parsing: bytes) } catch {
            return complain(
                node, "\(path) is no StoreKit configuration: \(error).", "Save it in Xcode again.")
        }
        app.storeKit = shop
        app.settings.offers = OfferCatalogue(shop)
        app.settings.offerings.familyShareable = shop.familyShareable
        app.settings.soldProducts = shop.productIDs
        app.settings.money.rules.lengths = shop.lengths
        warnAboutTerms(in: path, shop.products)
        let known = shop.products.map(\.id)
        for product in products where !known.contains(product.id) {
            warn(
                product.node, "\(path) has no product \(product.id).",
                Spelling.remedy(
                    for: product.id, among: known,
                    else: "The file has \(known.joined(separator: ", "))."))
        }
    }
}

extension AppSettings {
    var productLines: [String] {
        let gives = entitlements.flatMap { entitlement, products in
            products.map { "product \($0) gives \(entitlement)" }
        }
        return gives
            + wallets.credits.flatMap { product, credits in
                credits.map { "product \(product) credits \($1) \($0)" }
            }
    }

    /// A length as text, such as `1 month and 10 days`.
    private static func length(_ length: Term.Length) -> String {
        [(length.months, "month"), (length.days, "day")].filter { $0.0 > 0 }
            .map { $0.0.counted($0.1) }.joined(separator: " and ")
    }

    var termLines: [String] {
        guard !terms.products.isEmpty else { return [] }
        return terms.products.map { product, term in
            "term of \(product): \(Self.length(term.length)), "
                + "chain \(term.chain)"
                + (term.reminders.isEmpty ? "" : ", reminders \(term.reminders) days ahead")
        } + ["terms by the clock of \(terms.clock.name), overlap \(terms.overlap.rawValue)"]
    }
}

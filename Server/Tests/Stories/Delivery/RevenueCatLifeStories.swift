import AppStoreFormats
import Dice
import Engine
import Ledger
import Testing

@testable import Simulator

/// Plays random lives, and compares what webhooks, answers, the export and the simulator's books
/// say about the same transactions.
@Suite(.serialized) struct RevenueCatLifeStories {
    private static let accounts = 80
    private static let months = 8
    /// How often the app posts new purchases and everything is compared.
    private static let samples = 10

    @Test
    func `webhooks, the export and the simulator's ground truth agree on every transaction`()
        async throws
    {
        let seed = Dice.seed(announcedBy: "RevenueCatLifeStories", usual: 1)
        let webhooks = PostedWebhooks()
        let set: @Sendable (inout SimulatorSettings) -> Void = { settings in
            settings.seed = seed
            settings.renewsEarlySeconds = Int64(seed % 3) * 43_200
            settings.rules.seats = FullShop.seats
        }
        try await DirectShop.open(set, webhooks: webhooks) { shop in
            var dice = SplitMix64(seed: seed)
            await shop.store.setFaults { $0.notifications.odds[.duplicate] = 0.1 }
            let names = try await shop.store.populate(Self.accounts, within: .months(Self.months))
            var crowd = RevenueCatCrowd(shop, webhooks, names)
            for sample in 1...Self.samples {
                let days = Self.months * 30 / Self.samples
                let time = ISODuration(
                    days: days - 1, milliseconds: Int64.random(in: 0..<172_800_000, using: &dice))
                try await shop.store.advance(by: time)
                // Some apps are opened only long after Apple's notifications have arrived.
                let posts = sample == Self.samples ? 1 : 0.5
                try await crowd.post { Double.random(in: 0..<1, using: &dice) < posts }
                try await crowd.check("sample \(sample) of seed \(seed)")
            }
            try await crowd.checkCounts("seed \(seed)")
            try await crowd.checkExport("seed \(seed)")
        }
    }
}

/// The customers of a population. Their app posts purchases at intervals, and a backend receives
/// webhooks.
private struct RevenueCatCrowd {
    private let shop: DirectShop
    private let webhooks: PostedWebhooks
    private let names: [String]
    private var backend = RevenueCatBackend()
    private var events: [JSON] = []
    private var posted: Set<String> = []
    /// The ids of each account whose app has been opened.
    private var ids: [String: [String]] = [:]

    init(_ shop: DirectShop, _ webhooks: PostedWebhooks, _ names: [String]) {
        (self.shop, self.webhooks, self.names) = (shop, webhooks, names)
    }

    mutating func post(_ isOpened: () -> Bool) async throws {
        for name in names {
            let books = try await purchases(of: name)
            guard !books.isEmpty, isOpened() else { continue }
            let device = name + "-1"
            if ids[name] == nil {
                ids[name] = [name]
                if let token = await shop.store.accountToken(on: device) {
                    ids[name]?.append(token.lowercased())
                    _ = try await shop.engine.customers.alias(
                        CustomerID(rawValue: token), to: CustomerID(rawValue: name),
                        app: DirectShop.app, environment: .production)
                }
            }
            for booked in books where !posted.contains(booked.originalTransactionID) {
                let signed = try await shop.store.transactions(on: device).first {
                    try TransactionPayload(parsing: CompactJWS($0)?.payload ?? [])
                        .originalTransactionId == booked.originalTransactionID
                }
                _ = try await shop.engine.recording.record(
                    PurchaseEvidence(signedTransactions: [try #require(signed)]),
                    of: CustomerID(rawValue: name), app: DirectShop.app)
                posted.insert(booked.originalTransactionID)
            }
        }
        try await shop.deliver()
        let news = webhooks.take()
        for event in news { backend.take(event) }
        events += news
    }

    private func purchases(of name: String) async throws -> [TruePurchase] {
        do { return try await shop.store.groundTruth(of: name).purchases } catch {
            guard error.code == "unknown_account" else { throw error }
            return []
        }
    }

    // MARK: - Answers

    /// Expects that the backend has open all access that is open by the answer, and closed all that
    /// has ended by the answer.
    func check(_ place: String) async throws {
        let now = shop.store.clock.milliseconds
        for (name, ids) in ids {
            let open = backend.open(for: ids, at: now)
            var (isOpen, mayBeOpen): (Set<String>, Set<String>) = ([], [])
            for environment in Ledger.Environment.allCases {
                let state = try await shop.engine.customers.find(
                    CustomerID(rawValue: name), app: DirectShop.app, environment: environment)
                for purchase in state.purchases where purchase.access?.isOpen == true {
                    let periods = purchase.timeline.periods
                    mayBeOpen.formUnion(periods.map(\.product.rawValue))
                }
                isOpen.formUnion(
                    state.entitlements.filter { $0.value.isOpen }.map(\.key.rawValue))
                try checkFree(state, place)
            }
            #expect(isOpen.isSubset(of: open), "\(name) lacks access: \(place)")
            let once: Set = ["seeds", "season"]
            #expect(
                open.subtracting(once).isSubset(of: isOpen.union(mayBeOpen)),
                "\(name) has too much access: \(place)")
        }
    }

    /// Expects that the last webhook of each current period has the same state and price as the
    /// answer.
    private func checkFree(_ state: CustomerState, _ place: String) throws {
        for purchase in state.purchases {
            guard let access = purchase.access,
                let period = purchase.timeline.period(at: state.asOf),
                let type = Self.periodTypes[access.state]
            else { continue }
            let number = period.payment.transaction.rawValue
            let last = events.last {
                $0["transaction_id"]?.string == number && $0["period_type"] != nil
            }
            guard let last else { continue }
            #expect(last["period_type"]?.string == type, "\(number): \(place)")
        }
    }

    private static let periodTypes: [Access.State: String] = [
        .trial: "TRIAL", .offer: "INTRO", .paid: "NORMAL",
    ]

    // MARK: - Counts

    private static let payments: Set = ["INITIAL_PURCHASE", "RENEWAL", "NON_RENEWING_PURCHASE"]

    private func events(of types: Set<String>) -> [JSON] {
        events.filter { types.contains($0["type"]?.string ?? "") }
    }

    /// Expects one webhook for each transaction and one start for each subscription. No purchase
    /// changes its owner in these lives.
    func checkCounts(_ place: String) async throws {
        #expect(events(of: ["TRANSFER"]).isEmpty, "\(place)")
        #expect(Set(events.compactMap { $0["id"]?.string }).count == events.count, "\(place)")
        var began: [String: Int] = [:]
        for event in events(of: ["INITIAL_PURCHASE"]) {
            began[event["original_transaction_id"]?.string ?? "", default: 0] += 1
        }
        let subscriptions = Array(await shop.store.world.subscriptions.all)
        let expected = Set(subscriptions.map(\.id).filter(posted.contains))
        #expect(expected.count > 20, "\(place)")
        #expect(Set(began.keys) == expected, "\(place)")
        #expect(began.values.allSatisfy { $0 == 1 }, "\(place)")
        let numbers = events(of: Self.payments).compactMap { $0["transaction_id"]?.string }
        #expect(Set(numbers).count == numbers.count, "\(place)")
    }

    // MARK: - Books and export

    /// A transaction in the books, and the previous transaction of its chain.
    private struct Booked {
        var transaction: StoreTransaction
        var before: StoreTransaction?
        var number: Int
    }

    private func booked() async -> [String: Booked] {
        var found: [String: Booked] = [:]
        for subscription in Array(await shop.store.world.subscriptions.all) {
            // Added seats have the number of their period and do not convert a trial.
            let periods = subscription.transactions.filter(\.beginsPeriod)
            for (index, transaction) in periods.enumerated() {
                found[transaction.id] = Booked(
                    transaction: transaction, before: index > 0 ? periods[index - 1] : nil,
                    number: index + 1)
                let added = subscription.transactions.filter {
                    !$0.beginsPeriod && $0.isPart(ofPeriodOf: transaction)
                }
                for part in added {
                    found[part.id] = Booked(
                        transaction: part, before: transaction, number: index + 1)
                }
            }
        }
        for transaction in await shop.store.world.oneTimePurchases.values {
            found[transaction.id] = Booked(transaction: transaction, number: 1)
        }
        return found
    }

    private func exported() async throws -> [String: [String: ExportedValue]] {
        var rows: [String: [String: ExportedValue]] = [:]
        for environment in Ledger.Environment.allCases {
            try await shop.engine.reporting.exportForRevenueCat(
                of: DirectShop.app, in: environment, since: nil
            ) { values in
                let row = Dictionary(uniqueKeysWithValues: zip(RevenueCatExport.columns, values))
                guard case .text(let number)? = row["store_transaction_id"] else { return }
                rows[number] = row
            }
        }
        return rows
    }

    /// Expects that each webhook about a transaction agrees with the transaction's row in the
    /// export and with the books.
    func checkExport(_ place: String) async throws {
        let (booked, exported) = (await booked(), try await exported())
        var seen: [String: Int] = [:]
        for event in events {
            guard let number = event["transaction_id"]?.string, let type = event["type"]?.string,
                event["period_type"] != nil, let book = booked[number], let row = exported[number]
            else { continue }
            let comparison = RevenueCatComparison(
                event: event, type: type, row: row, book: book.transaction, before: book.before,
                number: book.number)
            for difference in comparison.differences {
                Issue.record("\(type) \(number): \(difference): \(place)")
            }
            seen[type, default: 0] += 1
        }
        let expected = [
            "INITIAL_PURCHASE", "RENEWAL", "NON_RENEWING_PURCHASE", "CANCELLATION", "EXPIRATION",
            "BILLING_ISSUE", "PRODUCT_CHANGE",
        ]
        for type in expected {
            #expect(seen[type, default: 0] > 0, "no webhook was \(type): \(place)")
        }
        let conversions = events.filter { $0["is_trial_conversion"] == true }
        #expect(conversions.count > 3, "\(place)")
    }
}

/// A webhook about a transaction, the transaction's row in the export, and its entry in the books.
private struct RevenueCatComparison {
    let event: JSON
    let type: String
    let row: [String: ExportedValue]
    let book: StoreTransaction
    let before: StoreTransaction?
    let number: Int

    /// The differences in words. Each has the value in the webhook, in the export and in the books.
    var differences: [String] {
        var facts: [(String, String, String, String)] = [
            ("period_type", text("period_type"), exportedPeriodType, bookedPeriodType),
            (
                "is_family_share", text("is_family_share"),
                "\(row["ownership_type"] == .text("FAMILY_SHARED"))",
                "\(book.ownership == .familyShared)"
            ),
            ("offer_code", text("offer_code"), value("offer"), book.offer?.id ?? "-"),
            ("currency", text("currency"), value("purchased_currency"), book.storefront.currency),
        ]
        // A webhook contains the charged amount. The export subtracts refunds of some of the seats.
        let isPayment = ["INITIAL_PURCHASE", "RENEWAL", "NON_RENEWING_PURCHASE"].contains(type)
        if isPayment, book.seats.map({ $0.refunds.isEmpty }) ?? true {
            let paid = book.ownership == .purchased ? book.price : 0
            facts.append(
                (
                    "price", amount("price_in_purchased_currency"),
                    value("purchase_price_in_purchased_currency"), Self.decimal(paid)
                ))
            let dollars = book.storefront.currency == "USD" || paid == 0 ? Self.decimal(paid) : "-"
            facts.append(("dollars", amount("price"), value("purchase_price_in_usd"), dollars))
        }
        if type == "RENEWAL" {
            let isConversion =
                before?.offer?.discount == .freeTrial && book.offer?.discount != .freeTrial
                && book.beginsPeriod
            facts.append(
                (
                    "is_trial_conversion", text("is_trial_conversion"),
                    value("is_trial_conversion"),
                    "\(isConversion)"
                ))
            facts.append(
                ("renewal_number", text("renewal_number"), value("renewal_number"), "\(number)"))
        }
        return facts.filter { $0.1 != $0.2 || $0.2 != $0.3 }.map {
            "\($0.0) is \($0.1), exported \($0.2), in the books \($0.3)"
        }
    }

    private var exportedPeriodType: String {
        if row["is_trial_period"] == .text("true") { return "TRIAL" }
        return row["is_in_intro_offer_period"] == .text("true") ? "INTRO" : "NORMAL"
    }

    private var bookedPeriodType: String {
        switch book.offer?.discount {
        case nil, .oneTime?: "NORMAL"
        case .freeTrial?: "TRIAL"
        default: "INTRO"
        }
    }

    private func text(_ key: String) -> String {
        switch event[key] {
        case .string(let text)?: text
        case .bool(let flag)?: "\(flag)"
        case .integer(let number)?: "\(number)"
        default: "-"
        }
    }

    private func amount(_ key: String) -> String {
        switch event[key] {
        case .integer(let whole)?: Self.decimal(whole * 1000)
        case .decimal(let text)?: Self.decimal(Int64(((Double(text) ?? -1) * 1000).rounded()))
        default: "-"
        }
    }

    private func value(_ column: String) -> String {
        switch row[column] {
        case .text(let text)?: text
        case .number(let number)?: "\(number)"
        default: "-"
        }
    }

    /// Formats an amount such as `9.99`, with a third digit only if that is not zero.
    private static func decimal(_ thousandths: Int64) -> String {
        let (units, rest) = thousandths.quotientAndRemainder(dividingBy: 1000)
        let digits = "\(rest + 1000)".dropFirst()
        return "\(units).\(rest % 10 == 0 ? digits.prefix(2) : digits)"
    }
}

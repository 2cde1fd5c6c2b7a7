import Foundation
import PerennialContract
import Testing

/// Everything that is sent over the wire, compared with files that other programs rely on.
@Suite struct GoldenTests {
    static let until = Timestamp(milliseconds: 1_798_286_400_000)

    static let anna = Customer(
        customerID: "anna", aliases: ["device-1"], environment: .production,
        asOf: Timestamp(milliseconds: 1_795_694_400_000),
        entitlements: [
            "pro": Entitlement(
                active: true, until: until, state: .paid, reason: "Paid until then.",
                willRenew: true, productID: "pro.monthly", purchaseID: "production:2000001"),
            "archive": Entitlement(
                active: true, until: nil, state: .owned, reason: "Bought, to keep.",
                willRenew: nil, productID: "archive", purchaseID: "production:2000009"),
        ],
        subscriptions: [
            Subscription(
                purchaseID: "production:2000001", productID: "pro.monthly",
                originalTransactionID: "2000001", state: .paid,
                period: .init(from: Timestamp(milliseconds: 1_795_694_400_000), until: until),
                willRenew: true, renewsTo: "pro.monthly", graceUntil: nil,
                price: Money(milliunits: 9990, currency: "USD"),
                commitment: .init(
                    month: 2, months: 12, until: Timestamp(milliseconds: 1_824_508_800_000),
                    renews: false), ownership: .purchased, environment: .production)
        ],
        nonRenewing: [
            NonRenewing(
                productID: "season", from: Timestamp(milliseconds: 1_795_694_400_000), until: nil,
                daysRemaining: nil)
        ],
        oneTime: [
            OneTimePurchase(
                productID: "archive", purchasedAt: Timestamp(milliseconds: 1_795_694_400_000),
                revokedAt: nil)
        ],
        wallets: ["gems": Wallet(balance: 40)],
        purchases: [
            PurchaseVerdict(
                purchaseID: "production:2000001", originalTransactionID: "2000001",
                verdict: .theirs, owner: .person),
            PurchaseVerdict(
                purchaseID: "production:2000007", originalTransactionID: "2000007",
                verdict: .another, why: "kept", owner: .person),
            PurchaseVerdict(
                purchaseID: "production:2000011", originalTransactionID: "2000011",
                verdict: .theirs, owner: .person, unlistedProductID: "guide"),
        ],
        unlistedProducts: [
            UnlistedProduct(
                productID: "guide", line: "guide: [pro]",
                remedy: "Add this line under products in perennial.yaml: guide: [pro].")
        ],
        outcomes: [
            DocumentOutcome(
                member: "signed_transactions", index: 0, transactionID: "2000014", outcome: .kept),
            DocumentOutcome(
                member: "signed_transactions", index: 1, outcome: .refused,
                code: .purchaseNotTrusted),
        ], accountToken: "0f4c7b9e-1d2a-4c3b-8e5f-6a7b8c9d0e1f",
        serverTime: Timestamp(milliseconds: 1_795_694_400_000))

    static let nobody = Customer(
        customerID: "nobody", environment: .sandbox, asOf: Timestamp(milliseconds: 0))

    static let problem = Problem(
        code: .keyMissing, status: 401, title: "The request has no key.",
        remedy: "Send the header Authorization: Bearer KEY.", requestID: "r-1",
        serverTime: Timestamp(milliseconds: 1_795_694_400_000))

    static let purchases = PurchasesRequest(
        customerID: "anna", intent: .sync, signedTransactions: ["a.b.c"],
        signedRenewalInfos: ["d.e.f"])

    static let bought = PurchasesRequest(
        customerID: "anna", intent: .purchase, signedTransactions: ["a.b.c"],
        placement: "onboarding", sdk: "birds/2", storefront: "DEU")

    static let receipt = PurchasesRequest(
        customerID: "anna", appReceipt: "MIIB", transactionReceipt: "ewo=",
        deviceGUID: "956328D9-CC6A-47F4-BE40-6953FB0AB6C7")

    @Test func `a customer with values in every field is encoded as in the golden file`() throws {
        try check(Self.anna, against: "customer")
    }

    @Test func `a customer without any values is encoded with all lists, which are empty`() throws {
        try check(Self.nobody, against: "customer-empty")
    }

    @Test func `a problem is encoded as in the golden file`() throws {
        try check(Self.problem, against: "problem")
    }

    static let events = EventList(
        items: [
            Event(
                id: "evt_12", sequence: 12, type: .refunded,
                at: Timestamp(milliseconds: 1_795_694_400_000),
                knownAt: Timestamp(milliseconds: 1_795_694_401_250), customerID: "anna",
                customerSequence: 3, purchaseID: "production:2000001",
                originalTransactionID: "2000001", environment: .production,
                productID: "pro.monthly", transactionID: "2000014", ownership: .purchased,
                before: PurchaseCondition(
                    productID: "pro.monthly", active: true, state: .paid, until: until,
                    willRenew: true),
                after: PurchaseCondition(
                    productID: "pro.monthly", active: false, state: .refunded, until: nil,
                    willRenew: nil),
                money: Money(milliunits: -9990, currency: "USD"),
                offer: RedeemedOffer(kind: "code", id: "spring"),
                cause: .init(kind: "document", documentID: "00ff")),
            Event(
                id: "evt_13", sequence: 13, type: .aliasAdded,
                at: Timestamp(milliseconds: 1_795_694_400_000),
                knownAt: Timestamp(milliseconds: 1_795_694_400_000), customerID: "anna",
                customerSequence: 4, otherCustomerID: "device-1", cause: .init(kind: "request")),
            Event(
                id: "evt_14", sequence: 14, type: .walletDebited,
                at: Timestamp(milliseconds: 1_795_694_400_000),
                knownAt: Timestamp(milliseconds: 1_795_694_400_000), customerID: "anna",
                customerSequence: 5, environment: .production,
                wallet: WalletMovement(
                    currency: "seeds", amount: -30, before: 100, after: 70, debitID: "d7",
                    reason: "an oak", idempotencyKey: "order-7"),
                cause: .init(
                    kind: "request",
                    author: .init(keyName: "desk", keyDigits: "0f4c7b9e", actor: "Mia"))),
            Event(
                id: "evt_15", sequence: 15, type: .walletCreditedByHand,
                at: Timestamp(milliseconds: 1_795_694_400_000),
                knownAt: Timestamp(milliseconds: 1_795_694_400_000), customerID: "anna",
                customerSequence: 6, environment: .production,
                wallet: WalletMovement(
                    currency: "seeds", amount: 50, before: 70, after: 120, reason: "ticket 7",
                    idempotencyKey: "ticket-7", creditID: "c7"),
                cause: .init(kind: "request")),
            Event(
                id: "evt_16", sequence: 16, type: .linked,
                at: Timestamp(milliseconds: 1_795_694_400_000),
                knownAt: Timestamp(milliseconds: 1_795_694_400_000), customerID: "anna",
                customerSequence: 9, purchaseID: "production:2000011",
                originalTransactionID: "2000011", environment: .production, productID: "guide",
                earlierEvents: 2, cause: .init(kind: "request")),
        ], nextCursor: "14")

    @Test func `events are encoded as in the golden file`() throws {
        try check(Self.events, against: "events")
    }

    @Test func `forwarded notifications are encoded as in the golden file`() throws {
        let forward = Forward(
            documentID: "00ff", url: "https://staging.example.com/apple",
            environment: .production, state: .waiting,
            createdAt: Timestamp(milliseconds: 1_795_694_400_000), attempts: 2,
            lastAttemptAt: Timestamp(milliseconds: 1_795_694_415_000), lastStatus: 503,
            nextAttemptAt: Timestamp(milliseconds: 1_795_694_445_000))
        try check(ForwardList(items: [forward], nextCursor: "c1"), against: "forwards")
    }

    @Test func `audit entries are encoded as in the golden file`() throws {
        let entry = AuditEntry(
            auditID: "aud_00ff", at: Timestamp(milliseconds: 1_795_694_400_000), author: "mira",
            act: "webhooks.pause", subject: "wh_1", before: ["is_paused": "false"],
            after: ["is_paused": "true"])
        try check(AuditList(items: [entry], nextCursor: "c1"), against: "audit")
    }

    @Test func `the requests are encoded as in the golden files`() throws {
        // As apps do, the requests leave out missing values.
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
        func check<Value: Codable & Equatable>(_ value: Value, against name: String) throws {
            try Self.check(encoder.encode(value), of: value, against: name)
        }
        try check(Self.purchases, against: "purchases-request")
        try check(Self.bought, against: "purchases-request-bought")
        try check(Self.receipt, against: "receipt-request")
        try check(AliasRequest(customerID: "anna@example.com"), against: "alias-request")
    }

    @Test func `a response of a later version, with unknown words and members, is decoded`() throws
    {
        let later = """
            {"active": true, "until": null, "state": "borrowed", "reason": "Borrowed.",
             "product_id": "x", "purchase_id": "y", "lender": "cleo"}
            """
        let entitlement = try JSONDecoder().decode(Entitlement.self, from: Data(later.utf8))
        #expect(entitlement.state.rawValue == "borrowed")
        #expect(entitlement.willRenew == nil)
    }

    /// Programs that were written for earlier files can also read the present files.
    @Test(arguments: ["customer", "customer-empty", "problem", "events", "forwards"])
    func `golden files have all members of the earlier golden files`(name: String) throws {
        let before = try Self.json(of: "before/\(name)")
        let lost = Self.lost(from: before, in: try Self.json(of: name), at: name)
        #expect(lost.isEmpty, "\(lost)")
    }

    /// The responses of an older server, which lack the latest members.
    @Test func `answers of an older server, without the latest members, can be decoded`() throws {
        func read<Value: Decodable>(_ name: String, as type: Value.Type) throws -> Value {
            let json = Self.without(
                ["unlisted_products", "unlisted_product_id", "earlier_events"],
                try Self.json(of: name))
            let data = try JSONSerialization.data(withJSONObject: json)
            return try JSONDecoder().decode(type, from: data)
        }
        let customer = try read("customer", as: Customer.self)
        #expect(customer.unlistedProducts == nil && customer.purchases.count == 3)
        #expect(customer.purchases.allSatisfy { $0.unlistedProductID == nil })
        let events = try read("events", as: EventList.self).items
        #expect(events.count == 5 && events.allSatisfy { $0.earlierEvents == nil })
    }

    private static func without(_ names: Set<String>, _ json: Any) -> Any {
        if let members = json as? [String: Any] {
            return members.filter { !names.contains($0.key) }.mapValues { without(names, $0) }
        }
        return (json as? [Any])?.map { without(names, $0) } ?? json
    }

    private static func json(of name: String) throws -> Any {
        try JSONSerialization.jsonObject(with: try Data(contentsOf: file(name)))
    }

    /// The paths of the members of the old value that are missing or different in the new value.
    private static func lost(from old: Any, in new: Any?, at path: String) -> [String] {
        if let members = old as? [String: Any] {
            let now = new as? [String: Any] ?? [:]
            return members.flatMap { lost(from: $1, in: now[$0], at: "\(path).\($0)") }
        }
        if let items = old as? [Any] {
            let now = new as? [Any] ?? []
            return items.enumerated().flatMap { number, item in
                lost(
                    from: item, in: now.indices.contains(number) ? now[number] : nil,
                    at: "\(path)[\(number)]")
            }
        }
        return (old as? NSObject) == (new as? NSObject) ? [] : [path]
    }

    private static func file(_ name: String) -> URL {
        URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../Fixtures/contract/\(name).json")
    }

    private func check<Value: Codable & Equatable>(_ value: Value, against name: String) throws {
        try Self.check(value, against: name)
    }

    /// The value as the server sends it with `?pretty`.
    static func check<Value: Codable & Equatable>(_ value: Value, against name: String) throws {
        let encoded = Data(try ContractEncoder(isIndented: true).encode(value))
        try check(encoded, of: value, against: name)
    }

    private static func check<Value: Codable & Equatable>(
        _ encoded: Data, of value: Value, against name: String
    ) throws {
        let encoded = String(decoding: encoded, as: UTF8.self) + "\n"
        let expected = try Data(contentsOf: file(name))
        #expect(encoded == String(decoding: expected, as: UTF8.self))
        #expect(try JSONDecoder().decode(Value.self, from: expected) == value)
    }
}

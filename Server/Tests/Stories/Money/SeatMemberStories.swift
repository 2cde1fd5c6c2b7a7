import AppStoreFormats
import Engine
import Ledger
import Testing

@testable import Simulator

/// Members of a group or an organization, which pays for their seats. The log, webhooks in
/// RevenueCat's form, and the simulator's books agree on each transaction.
@Suite(.serialized) struct SeatMemberStories {
    @Test(arguments: [[], [.membersHaveNoRenewalInfo]] as [Set<Quirk>])
    func `events report the assignment and revocation of a seat, with no price in webhooks`(
        habits: Set<Quirk>
    ) async throws {
        let webhooks = PostedWebhooks()
        let set: @Sendable (inout SimulatorSettings) -> Void = {
            $0.quirks = habits
            let tiers = SeatPrices.Tiers(everywhere: [.init(from: 3, price: 7_990)])
            $0.rules.seats.set(tiers, of: "tiers.silver")
        }
        try await DirectShop.open(set, webhooks: webhooks) { shop in
            var stage = SeatMemberStage(shop: shop, webhooks: webhooks)
            let group = try await stage.open()
            try await shop.store.change(group, .joinGroup("ben"))
            try await stage.organization(.assign, "cleo")
            try await stage.check("joined")
            try await stage.pass("P40D")
            try await stage.check("renewed")
            try await shop.store.change(group, .leaveGroup("ben"))
            try await stage.organization(.unassign, "cleo")
            try await stage.check("taken back")
            try await stage.pass("P3D")
            try await shop.store.change(group, .joinGroup("ben"))
            try await shop.store.change(group, .joinGroup("cleo"))
            try await stage.check("given again")
            try await stage.pass("P30D")
            try await shop.store.change(group, .refund())
            try await stage.check("all is refunded")
            try await stage.pass("P40D")
            try await stage.check("the end")
            #expect(try await shop.engine.maintenance.rebuild(verifyOnly: true).isClean)
        }
    }
}

/// Anna, who buys seats, and the members who get a seat.
private struct SeatMemberStage {
    let shop: DirectShop
    let webhooks: PostedWebhooks
    private let names = ["anna", "ben", "cleo"]
    private var backend = RevenueCatBackend()
    private var posted: [JSON] = []

    init(shop: DirectShop, webhooks: PostedWebhooks) {
        (self.shop, self.webhooks) = (shop, webhooks)
    }

    /// Anna buys four seats. Returns the group's original transaction id.
    func open() async throws -> String {
        for name in names { try await shop.store.addDevice(account: name) }
        let order = PurchaseOrder("tiers.silver", offerID: PurchaseOrder.noOffer, seats: 4)
        return try await shop.store.purchase(order, on: "anna-1").originalTransactionID
    }

    func organization(_ verb: OrganizationVerb, _ account: String) async throws {
        try await shop.store.changeOrganization("acme", verb, "tiers.silver", account: account)
    }

    func pass(_ time: String) async throws {
        try await shop.store.advance(by: try #require(ISODuration(time)))
    }

    /// Every app posts its transactions, and all outputs are compared with the books.
    mutating func check(_ when: String) async throws {
        for name in names {
            let texts = try await shop.store.transactions(on: name + "-1")
            guard !texts.isEmpty else { continue }
            _ = try await shop.engine.recording.record(
                PurchaseEvidence(signedTransactions: texts), of: CustomerID(rawValue: name),
                app: DirectShop.app)
        }
        try await shop.deliver()
        let news = webhooks.take()
        for event in news { backend.take(event) }
        posted += news
        try await compareAccess(when)
        let log = try await LogCheck(engine: shop.engine, app: DirectShop.app).events()
        let chains = Array(await shop.store.world.subscriptions.all).filter { $0.sharedBy != nil }
        for chain in chains {
            let told = log.filter { $0.entry.purchase?.original.rawValue == chain.id }
                .map(\.entry.change)
            let kinds = told.map(\.kind).filter(Self.isAboutSeat)
            #expect(kinds == Self.expected(chain), "\(chain.account.name), \(when)")
            #expect(told.allSatisfy { $0.money == nil }, "\(chain.account.name), \(when)")
            compareWebhooks(chain, when)
        }
    }

    /// RevenueCat's backend and our answer open the same access as the books.
    private func compareAccess(_ when: String) async throws {
        let now = shop.store.clock.milliseconds
        for name in names {
            let books = try await shop.store.groundTruth(of: name).purchases
            let open = Set(books.filter(\.isOpen).map(\.productID))
            let state = try await shop.engine.customers.find(
                CustomerID(rawValue: name), app: DirectShop.app, environment: .production)
            let ours = state.entitlements.filter { $0.value.isOpen }.map(\.key.rawValue)
            #expect(Set(ours) == open, "\(name), \(when)")
            #expect(backend.open(for: [name], at: now) == open, "\(name), \(when)")
        }
    }

    /// Expects that the log's events of a member's transactions agree with the books.
    private static func expected(_ chain: Simulator.Subscription) -> [Change.Kind] {
        var isHad = false
        return chain.transactions.flatMap { transaction -> [Change.Kind] in
            let beginning: Change.Kind = isHad ? .renewed : .seatAssigned
            isHad = transaction.revocation == nil
            return [beginning] + (isHad ? [] : [.seatRevoked])
        }
    }

    private static func isAboutSeat(_ kind: Change.Kind) -> Bool {
        switch kind {
        case .renewalKnown, .renewalTurnedOff, .renewalTurnedOn, .linked: false
        default: true
        }
    }

    /// Expects one event for each transaction, and no price for the member.
    private func compareWebhooks(_ chain: Simulator.Subscription, _ when: String) {
        let payments = posted.filter {
            $0["original_transaction_id"]?.string == chain.id
                && ["INITIAL_PURCHASE", "RENEWAL", "NON_RENEWING_PURCHASE"].contains($0["type"])
        }
        #expect(
            payments.compactMap { $0["transaction_id"]?.string } == chain.transactions.map(\.id),
            "\(chain.account.name), \(when)")
        let types = payments.enumerated().map { $0.offset == 0 ? "INITIAL_PURCHASE" : "RENEWAL" }
        #expect(payments.compactMap { $0["type"]?.string } == types, "\(when)")
        for payment in payments {
            #expect(payment["price"] == 0 && payment["price_in_purchased_currency"] == 0)
            #expect(payment["is_family_share"] == false && payment["currency"] == "USD")
        }
    }
}

import AppStoreFormats
import Testing

@testable import Simulator

/// Ask to Buy, interrupted purchases, and purchases that fail.
@Suite struct PendingPurchaseTests {
    private func stage(_ change: (inout SimulatorSettings) -> Void = { _ in }) async throws -> Stage
    {
        let stage = try Stage(shop: try CatShop.file(), change)
        try await stage.simulator.addDevice(account: "anna")
        return stage
    }

    private func order(_ stage: Stage, _ product: String = "book") async throws -> String {
        let outcome = try await stage.simulator.order(PurchaseOrder(product), on: "anna-1")
        guard case .pending(let id, _) = outcome else {
            throw Missing(description: "\(outcome) is not pending")
        }
        return id
    }

    @Test func `a child's purchase waits until a parent approves`() async throws {
        let stage = try await stage { $0.rules.asksToBuy = true }
        let id = try await order(stage, "pro.monthly")
        #expect(await stage.simulator.notifications.isEmpty)
        let waiting = try await stage.simulator.groundTruth(of: "anna")
        #expect(waiting.purchases.isEmpty && waiting.pending.map(\.id) == [id])
        #expect(waiting.pending.map(\.reason) == ["ask_to_buy"])
        try await stage.advance("P1D")
        let bought = try await stage.simulator.resolve(pending: id, .approve)
        #expect(try await stage.story() == ["SUBSCRIBED/INITIAL_BUY 1 pro.monthly"])
        let transaction = try await stage.letters()[0].transaction
        #expect(transaction.transactionId == bought?.transactionID)
        #expect(try transaction.purchaseDate == moment("2026-01-11T20:00:00Z"))
        #expect(try await stage.simulator.groundTruth(of: "anna").pending.isEmpty)
    }

    @Test
    func `an approved purchase belongs to the account that asked for it, not to the signed-in one`()
        async throws
    {
        let stage = try await stage { $0.rules.asksToBuy = true }
        let annas = try await order(stage)
        try await stage.simulator.signIn("ben", on: "anna-1", storefront: "DEU")
        let bens = try await order(stage, "pass")
        try await stage.simulator.signIn("anna", on: "anna-1", storefront: "USA")
        try await stage.simulator.signIn("cleo", on: "anna-1")
        try await stage.simulator.resolve(pending: annas, .approve)
        try await stage.simulator.resolve(pending: bens, .approve)
        #expect(await stage.simulator.notifications.map(\.draft.account) == ["anna", "ben"])
        let bought = try await stage.letters().map(\.transaction)
        #expect(bought.map(\.productId) == ["book", "pass"])
        #expect(bought.map(\.storefront) == ["USA", "DEU"])
        #expect(try await stage.simulator.groundTruth(of: "cleo").purchases.isEmpty)
    }

    @Test(arguments: [false, true])
    func `a declined purchase sends no notification and no transaction, unless a habit is on`(
        arrives: Bool
    ) async throws {
        let stage = try await stage {
            $0.rules.asksToBuy = true
            if arrives { $0.quirks = [.declinedPurchaseArrives] }
        }
        let id = try await order(stage)
        let bought = try await stage.simulator.resolve(pending: id, .decline)
        #expect((bought != nil) == arrives)
        #expect(try await stage.story() == (arrives ? ["ONE_TIME_CHARGE book"] : []))
        await #expect(throws: SimulatorProblem.self) {
            try await stage.simulator.resolve(pending: id, .approve)
        }
    }

    @Test func `Ask to Buy is set for one account, and does not apply to other accounts`()
        async throws
    {
        let stage = try await stage()
        try await stage.simulator.addDevice(account: "kim", asksToBuy: true)
        let outcome = try await stage.simulator.order(PurchaseOrder("book"), on: "kim-1")
        #expect(outcome != .cancelled)
        try await stage.buy("book")
        #expect(await stage.simulator.notifications.map(\.draft.account) == ["anna"])
    }

    @Test(arguments: [false, true])
    func `an interrupted purchase continues when the issue is resolved`(fails: Bool) async throws {
        let stage = try await stage {
            $0.rules.interruptsPurchases = true
            if fails { $0.quirks = [.interruptedPurchaseFails] }
        }
        let outcome = try await stage.simulator.order(PurchaseOrder("gem"), on: "anna-1")
        #expect((outcome == .failed("unknown")) == fails)
        let pending = try await stage.simulator.groundTruth(of: "anna").pending
        #expect(pending.map(\.reason) == ["interrupted"])
        await #expect(throws: SimulatorProblem.self) {
            try await stage.simulator.resolve(pending: pending[0].id, .approve)
        }
        let bought = try await stage.simulator.resolve(pending: pending[0].id, .resolve)
        #expect(bought != nil)
        #expect(try await stage.story() == ["ONE_TIME_CHARGE gem"])
    }

    @Test func `in billing retry, resolving the subscription's transaction recovers the payment`()
        async throws
    {
        let stage = try await stage()
        let id = try await stage.buy("pro.monthly", offer: "none").originalTransactionID
        try await stage.simulator.change(id, .failBilling)
        try await stage.advance("P1M")
        let renewed = try await stage.simulator.resolve(pending: id, .resolve)
        #expect(try await stage.story().last == "DID_RENEW/BILLING_RECOVERY 1 pro.monthly")
        #expect(renewed?.originalTransactionID == id && renewed?.transactionID != id)
    }

    @Test func `a cancelled or failed purchase has no transaction and no notification`()
        async throws
    {
        let stage = try await stage()
        var order = PurchaseOrder("book")
        for (choice, outcome) in [
            (PurchaseOrder.Choice.cancel, PurchaseOutcome.cancelled), (.fail, .failed("unknown")),
        ] {
            order.choice = choice
            #expect(try await stage.simulator.order(order, on: "anna-1") == outcome)
        }
        #expect(await stage.simulator.notifications.isEmpty)
        let books = try await stage.simulator.groundTruth(of: "anna")
        #expect(books.purchases.isEmpty && books.pending.isEmpty)
    }

    @Test func `a product that cannot be bought is refused before the parent is asked`()
        async throws
    {
        let stage = try await stage { $0.rules.asksToBuy = true }
        var order = PurchaseOrder("pro.monthly", offerID: "promo.free")
        await #expect(throws: SimulatorProblem.self) {
            try await stage.simulator.order(order, on: "anna-1")
        }
        order = PurchaseOrder("book", quantity: 11)
        await #expect(throws: SimulatorProblem.self) {
            try await stage.simulator.order(order, on: "anna-1")
        }
        #expect(try await stage.simulator.groundTruth(of: "anna").pending.isEmpty)
    }

    @Test(arguments: [("book", false), ("pro.monthly", false), ("gem", true), ("pass", true)])
    func `only consumables and non-renewing subscriptions can have a quantity`(
        product: String, isSold: Bool
    ) async throws {
        let stage = try await stage()
        let order = PurchaseOrder(product, quantity: 2)
        if isSold {
            try await stage.simulator.purchase(order, on: "anna-1")
            #expect(try await stage.letters().map(\.transaction.quantity) == [2])
            return
        }
        let problem = await #expect(throws: SimulatorProblem.self) {
            try await stage.simulator.purchase(order, on: "anna-1")
        }
        #expect(problem?.code == "bad_request" && problem?.message.contains(product) == true)
        #expect(await stage.simulator.notifications.isEmpty)
    }

    @Test func `one-time products of every kind can be bought, and consumables also in quantities`()
        async throws
    {
        let stage = try await stage()
        for product in ["gem", "book", "pass"] {
            try await stage.simulator.purchase(
                PurchaseOrder(product, quantity: product == "gem" ? 3 : 1), on: "anna-1")
        }
        let all = try await stage.letters().map(\.transaction)
        #expect(all.map(\.type) == [.consumable, .nonConsumable, .nonRenewing])
        #expect(all.map(\.price) == [2970, 9990, 14_990] && all.map(\.quantity) == [3, 1, 1])
        #expect(all.allSatisfy { $0.expiresDate == nil && $0.webOrderLineItemId == nil })
        let again = try await stage.buy("book")
        #expect(again.transactionID == all[1].transactionId)
        try await stage.buy("pass")
        #expect(await stage.simulator.notifications.count == 4)
    }
}

import AppStoreFormats
import Testing

@testable import Simulator

@Suite struct DeviceFaultTests {
    /// A device of anna, on which three periods of a monthly subscription are listed.
    private func stage(next faults: DeviceFault...) async throws -> Stage {
        let stage = try Stage()
        try await stage.buy("pro.monthly")
        try await stage.advance("P2M")
        try await stage.simulator.setFaults { try $0.devices.order(faults) }
        return stage
    }

    /// The days on which the transactions of a list were bought.
    private func days(_ documents: [String]) throws -> [String] {
        try documents.map { document in
            let bought = try decode(TransactionPayload.self, document).purchaseDate
            return String(RFC3339.text(try require(bought, "no date")).prefix(10))
        }
    }

    @Test func `a fault makes the next list empty, reversed, duplicated or short`() async throws {
        let stage = try await stage(
            next: .emptyRead, .newestFirst, .latestTwice, .unlistedAfterPurchase)
        let simulator = stage.simulator
        let all = ["2026-01-10", "2026-02-10", "2026-03-10"]
        for expected in [[], all.reversed(), all + [all[2]], all.dropLast(), all] {
            #expect(try await days(simulator.transactions(on: "anna-1")) == Array(expected))
        }
    }

    @Test func `a fault makes the next list of statuses empty`() async throws {
        let stage = try await stage(next: .emptyRead)
        #expect(try await stage.simulator.statuses(on: "anna-1").isEmpty)
        #expect(try await stage.simulator.statuses(on: "anna-1").map(\.status) == [.active])
    }

    @Test func `a fault forges a list's last document, or replaces it with another app's document`()
        async throws
    {
        let stage = try await stage(next: .forged, .wrongApp)
        let leaf = try Stage.authority.get().certificates[0]
        let forged = try await stage.simulator.transactions(on: "anna-1")
        #expect(try forged.map { try isSigned($0, byLeaf: leaf) } == [true, true, false])
        let foreign = try await stage.simulator.unfinished(on: "anna-1").map {
            try decode(TransactionPayload.self, $0).bundleId
        }
        #expect(foreign == [ExampleShop.bundleID, ExampleShop.bundleID, "com.example.other"])
    }

    @Test func `if a fault lists a transaction twice, the two documents have different dates`()
        async throws
    {
        let stage = try await stage(next: .latestTwice)
        let shown = try await stage.simulator.transactions(on: "anna-1")
        let dates = try shown.suffix(2).map { try decode(TransactionPayload.self, $0).signedDate }
        #expect(dates[0] != dates[1])
    }

    @Test func `at a renewal, each of two faults reports an expired status once`() async throws {
        let stage = try await stage(next: .expiredAtRenewal, .lapsedAtRenewal)
        for renews in [AutoRenewStatus.on, .off] {
            let status = try await stage.simulator.statuses(on: "anna-1")[0]
            let renewal = try decode(RenewalPayload.self, status.signedRenewalInfo)
            #expect(status.status == .expired && renewal.autoRenewStatus == renews)
        }
        let after = try await stage.simulator.statuses(on: "anna-1")[0]
        #expect(after.status == .active)
        // The simulator's books are not affected.
        #expect(try await stage.truth().state == .paid)
    }

    @Test
    func `in billing retry, a fault lists the subscription as a current entitlement once`()
        async throws
    {
        let stage = try await stage(next: .listedInRetry)
        let simulator = stage.simulator
        #expect(try await simulator.entitlements(on: "anna-1").count == 1)
        let id = try await stage.truth().originalTransactionID
        try await simulator.change(id, .failBilling)
        try await stage.advance("P50D")
        #expect(try await stage.truth().state == .retry)
        #expect(try await simulator.entitlements(on: "anna-1").count == 1)
        #expect(try await simulator.entitlements(on: "anna-1").isEmpty)
    }

    @Test func `with a fault, a purchase after a lapse returns the old transaction`() async throws {
        let stage = try await stage(next: .heldTransaction)
        let simulator = stage.simulator
        let id = try await stage.truth().originalTransactionID
        try await simulator.change(id, .cancel)
        try await stage.advance("P2M")
        let answer = try await stage.buy("pro.monthly")
        let held = try decode(TransactionPayload.self, answer.signedTransaction)
        #expect(try await stage.truth().state == .paid)
        #expect(try require(held.expiresDate, "no end") < simulator.clock.now)
        #expect(answer.transactionID == held.transactionId)
    }

    @Test
    func `faults reverse the unfinished transactions, add a finished one, or repeat the latest`()
        async throws
    {
        let stage = try await stage(next: .newestFirst, .finishedAgain, .latestTwice)
        let simulator = stage.simulator
        let first = try await stage.truth().originalTransactionID
        try await simulator.finish(first, on: "anna-1")
        let (two, three) = ("2026-02-10", "2026-03-10")
        for expected in [
            [three, two], ["2026-01-10", two, three], [two, three, three], [two, three],
        ] {
            #expect(try await days(simulator.unfinished(on: "anna-1")) == expected)
        }
    }

    @Test
    func `the fault that repeats finished transactions waits until a transaction is finished`()
        async throws
    {
        let stage = try await stage(next: .finishedAgain)
        #expect(try await days(stage.simulator.unfinished(on: "anna-1")).count == 3)
        #expect(await stage.simulator.faults.devices.ordered == [.finishedAgain])
    }

    @Test
    func `with a fault, a device repeats its first answer about introductory offer eligibility`()
        async throws
    {
        let stage = try Stage()
        try await stage.simulator.addDevice(account: "anna")
        await stage.simulator.setFaults { $0.devices.odds[.stickyEligibility] = 1 }
        try await stage.withClient { client in
            func isEligible(_ device: String) async throws -> JSON? {
                let shop = try await client.json("/_sim/products?ids=pro.yearly&device=\(device)")
                let product = shop["products"]?.array?.first
                return product?["subscription"]?["introductory_offer"]?["eligible"]
            }
            #expect(try await isEligible("anna-1") == true)
            let bought = try await stage.buy("pro.yearly").transactionID
            #expect(try await isEligible("anna-1") == true)
            try await stage.simulator.change(transaction: bought, .refund())
            #expect(try await isEligible("anna-1") == true)
            await stage.simulator.setFaults { $0.devices.odds = [:] }
            #expect(try await isEligible("anna-1") == false)
            // The other device asks for the first time.
            await stage.simulator.setFaults { $0.devices.odds[.stickyEligibility] = 1 }
            try await stage.simulator.addDevice(account: "anna")
            #expect(try await isEligible("anna-2") == false)
        }
        #expect(await stage.simulator.faults.devices.struck == [.stickyEligibility: 2])
    }

    @Test func `with a fault, a second purchase of a product returns the first transaction`()
        async throws
    {
        let stage = try Stage(shop: try CatShop.file())
        let first = try await stage.buy("pass").transactionID
        try await stage.simulator.setFaults { try $0.devices.order([.heldTransaction]) }
        #expect(try await stage.buy("gem").transactionID != first)
        #expect(try await stage.buy("pass").transactionID == first)
        #expect(try await stage.simulator.groundTruth(of: "anna").purchases.count == 3)
    }

    @Test(arguments: [
        DeviceFault.forged, .truncated, .wrongApp, .wrongEnvironment,
    ])
    func `a fault makes a purchase return a document that is forged or for another app`(
        fault: DeviceFault
    )
        async throws
    {
        let stage = try Stage()
        try await stage.simulator.setFaults { try $0.devices.order([fault]) }
        let text = try await stage.buy("pro.monthly").signedTransaction
        let leaf = try Stage.authority.get().certificates[0]
        let isWhole = CompactJWS(text)?.signature != nil
        let isTrue = try isWhole && isSigned(text, byLeaf: leaf)
        #expect(isTrue == [.wrongApp, .wrongEnvironment].contains(fault))
        if fault == .wrongApp {
            #expect(try decode(TransactionPayload.self, text).bundleId == "com.example.other")
        }
        if fault == .wrongEnvironment {
            let payload = try decode(TransactionPayload.self, text)
            #expect(payload.environment == .localTesting)
        }
        #expect(await stage.simulator.faults.devices.struck == [fault: 1])
    }
}

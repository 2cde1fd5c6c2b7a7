import AppStoreFormats
import Engine
import Foundation
import Ledger
import RevenueCatClient
import RevenueCatDouble
import Simulator
import Testing

@testable import Program

/// The balances of RevenueCat's customers come along once, and no purchase is credited twice.
@Suite(.serialized) struct RevenueCatBalanceStories {
    private typealias Town = RevenueCatImportStories

    /// A balance there, and what was bought and spent here.
    private struct Balance: Sendable {
        var id: String
        var packs = 1
        var spent: Int64 = 0
        var there: Int64
        var expected: Int64
        var line: String?
    }

    /// A pack credits 100.
    private static let balances = [
        Balance(id: "same", there: 100, expected: 100),
        Balance(id: "given", there: 250, expected: 250),
        Balance(id: "spent-there", there: 30, expected: 30),
        Balance(id: "nothing-left", there: 0, expected: 0),
        Balance(id: "spent-here", spent: 40, there: 100, expected: 60),
        Balance(id: "both", packs: 2, spent: 50, there: 120, expected: 70),
        Balance(id: "twice", spent: 90, there: 20, expected: 0, line: "only 10 could be deducted"),
        Balance(id: "newcomer", packs: 0, there: 50, expected: 50),
    ]

    private static let original = "original_transaction_id"

    private static func settings(_ pass: inout RevenueCatCustomerImport) {
        pass.withBalances = true
        pass.currencies = ["SEED": "seeds"]
    }

    /// Both systems get to know the purchases.
    private static func buyAndSpend(
        _ row: Balance, in shop: Shop, _ double: RevenueCatDouble
    ) async throws {
        guard row.packs > 0 else { return }
        try await shop.addDevice(row.id)
        for _ in 0..<row.packs {
            let bought = try await shop.simulator.post(
                "/_sim/devices/\(row.id)-1/purchases", ["product_id": "seeds.100"])
            #expect(try await shop.post(bought, as: row.id) == 200)
            double.logIn(row.id, purchase: try bought.text(original))
        }
        for body in try await shop.notifications() { double.receive(notification: body) }
        guard row.spent > 0 else { return }
        _ = try await shop.support.post(
            "/v1/customers/\(row.id)/wallets/seeds/debits",
            ["amount": .integer(row.spent), "reason": "a tree"])
    }

    private static func balance(of id: String, in shop: Shop) async throws -> Int64 {
        try await shop.support.get("/v1/customers/\(id)")["wallets"]?["seeds"]?["balance"]?
            .integer ?? 0
    }

    @Test(arguments: StoryDatabase.allCases)
    func `an imported balance is booked once, and amounts spent here stay spent`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database, app: RevenueCatPhone.app()) { shop in
            let double = try Town.double()
            for row in Self.balances {
                try await Self.buyAndSpend(row, in: shop, double)
                double.alias(row.id, "\(row.id)@example.com")
                double.setBalance(row.there, of: "SEED", for: row.id)
            }
            double.setBalance(7, of: "GOLD", for: "same")
            let trial = try await Town.run(double, into: shop) {
                Self.settings(&$0)
                $0.isTrial = true
            }
            #expect(trial.result.balances == 6)
            #expect(try await Self.balance(of: "given", in: shop) == 100)
            let first = try await Town.run(double, into: shop, Self.settings)
            #expect(first.result.balances == 6)
            for row in Self.balances {
                #expect(
                    try await Self.balance(of: row.id, in: shop) == row.expected, "\(row.id)")
                let lines = first.lines.filter { $0.hasPrefix("\(row.id): of") }
                #expect(lines.count == (row.line == nil ? 0 : 1), "\(row.id)")
                #expect(row.line.map { lines.first?.contains($0) ?? false } ?? true, "\(row.id)")
            }
            #expect(first.lines.contains { $0.hasPrefix("same: 7 GOLD were left out") })
            #expect(
                try await Town.ids(of: "newcomer", in: shop) == [
                    "newcomer", "newcomer@example.com",
                ])

            // Every balance was decided, so it does not matter what is there later.
            for row in Self.balances { double.setBalance(999, of: "SEED", for: row.id) }
            double.setBalance(0, of: "SEED", for: "same")
            double.setBalance(0, of: "SEED", for: "twice")
            let events = try await Town.events(shop)
            let again = try await Town.run(double, into: shop, Self.settings)
            #expect(again.lines.count == 1 && again.lines[0].hasPrefix("same: 7 GOLD"))
            #expect(again.result.balances == 0)
            #expect(try await Town.events(shop) == events)
            #expect(try await shop.engine.maintenance.rebuild(verifyOnly: true).isClean)
        }
    }

    @Test func `the balance of an erased customer, or of ids of two people, is not booked`()
        async throws
    {
        try await withShop(on: .sqlite, app: RevenueCatPhone.app()) { shop in
            let double = try Town.double()
            for id in ["anna", "ben", "cleo"] {
                try await Self.buyAndSpend(
                    Balance(id: id, there: 0, expected: 0), in: shop, double)
                double.setBalance(500, of: "seeds", for: id)
            }
            double.alias("ben", "cleo")
            #expect(try await shop.support.send("DELETE", "/v1/customers/anna").status == 200)
            // Anna comes back as a new customer.
            let bought = try await shop.simulator.post(
                "/_sim/devices/anna-1/purchases", ["product_id": "seeds.100"])
            #expect(try await shop.post(bought, as: "anna") == 200)
            let found = try await Town.run(double, into: shop) { $0.withBalances = true }
            #expect(found.result.balances == 0)
            #expect(found.lines.filter { $0.contains("no balance was imported") }.count == 2)
            for id in ["anna", "ben", "cleo"] {
                #expect(try await Self.balance(of: id, in: shop) == 100)
            }
        }
    }

    @Test func `a balance that a script has booked by the documented key is not booked again`()
        async throws
    {
        try await withShop(on: .sqlite, app: RevenueCatPhone.app()) { shop in
            let double = try Town.double()
            double.setBalance(80, of: "SEED", for: "anna")
            let credit: JSON = ["amount": 80, "reason": "from RevenueCat"]
            let answer = try await shop.support.send(
                "POST", "/v1/customers/anna/wallets/seeds/credits", body: credit.bytes,
                headers: [
                    "Content-Type": "application/json",
                    "Idempotency-Key": "revenuecat-balance-SEED-anna",
                ])
            #expect([200, 201].contains(answer.status))
            let found = try await Town.run(double, into: shop, Self.settings)
            #expect(found.result.balances == 0 && found.lines.isEmpty)
            #expect(try await Self.balance(of: "anna", in: shop) == 80)
        }
    }

    @Test func `if two RevenueCat customers are one customer here, no balance is booked`()
        async throws
    {
        try await withShop(on: .sqlite, app: RevenueCatPhone.app()) { shop in
            let double = try Town.double()
            try await Self.buyAndSpend(
                Balance(id: "anna", there: 0, expected: 0), in: shop, double)
            _ = try await shop.support.post(
                "/v1/customers/anna/aliases", ["customer_id": "anna2"])
            for id in ["anna", "anna2"] { double.setBalance(300, of: "SEED", for: id) }
            let found = try await Town.run(double, into: shop, Self.settings)
            #expect(found.result.balances == 0)
            #expect(found.lines.filter { $0.contains("another customer there") }.count == 2)
            #expect(try await Self.balance(of: "anna", in: shop) == 100)
        }
    }

    @Test func `no balance is booked if only one of the two systems counts a purchase`()
        async throws
    {
        try await withShop(on: .sqlite, app: RevenueCatPhone.app()) { shop in
            let double = try Town.double()
            // Only RevenueCat knows ben's pack, and only this server knows cleo's.
            for id in ["ben", "cleo"] {
                try await shop.addDevice(id)
                let bought = try await shop.simulator.post(
                    "/_sim/devices/\(id)-1/purchases", ["product_id": "seeds.100"])
                if id == "cleo" { #expect(try await shop.post(bought, as: id) == 200) }
                if id == "ben" { double.logIn(id, purchase: try bought.text(Self.original)) }
            }
            for body in try await shop.notifications() { double.receive(notification: body) }
            double.setBalance(100, of: "SEED", for: "ben")
            double.setBalance(0, of: "SEED", for: "cleo")
            for isTrial in [true, false] {
                let found = try await Town.run(double, into: shop) {
                    Self.settings(&$0)
                    $0.isTrial = isTrial
                }
                #expect(found.result.balances == 0)
                #expect(found.lines.contains { $0.hasPrefix("ben: ") && $0.contains("import it") })
                #expect(
                    found.lines.contains { $0.hasPrefix("cleo: ") && $0.contains("not count") })
            }
            #expect(try await Self.balance(of: "cleo", in: shop) == 100)
        }
    }

    @Test func `no balance is booked if a sandbox purchase may have credited the currency`()
        async throws
    {
        try await withShop(on: .sqlite, app: RevenueCatPhone.app()) { shop in
            for (product, isBooked) in [("seeds.100", false), ("pro.monthly", true)] {
                let trial = VendorPurchase(
                    transaction: "1", product: ProductID(rawValue: product), isSandbox: true)
                let found = try await shop.engine.imports.record(
                    balances: [ImportedBalance("SEED", in: "seeds", 100)], of: ["anna"],
                    counting: [trial], app: "birds")
                #expect((found.balancesBooked == 1) == isBooked)
                #expect(found.problems.contains { $0.contains("sandbox") } == !isBooked)
            }
        }
    }

    @Test func `balances are not imported for the sandbox, or after a complete run`()
        async throws
    {
        try await withShop(on: .sqlite, app: RevenueCatPhone.app()) { shop in
            let double = try Town.double()
            double.setBalance(80, of: "SEED", for: "anna")
            await #expect(throws: StartFailure.self) {
                try await Town.run(double, into: shop) {
                    Self.settings(&$0)
                    $0.environment = .sandbox
                }
            }
            #expect(try await Town.run(double, into: shop, Self.settings).result.balances == 1)
            await #expect(throws: StartFailure.self) {
                try await Town.run(double, into: shop, Self.settings)
            }
        }
    }

    @Test func `two RevenueCat currencies for one currency here are refused`() async throws {
        #expect(throws: (any Error).self) {
            try RevenueCatImportCommand.currencies(["GEM=seeds", "SEED=seeds"])
        }
        try await withShop(on: .sqlite, app: RevenueCatPhone.app()) { shop in
            let double = try Town.double()
            double.setBalance(80, of: "SEED", for: "anna")
            double.setBalance(50, of: "seeds", for: "anna")
            let found = try await Town.run(double, into: shop, Self.settings)
            #expect(found.result.balances == 0 && found.lines.count == 2)
        }
    }
}

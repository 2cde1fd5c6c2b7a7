import AppStoreFormats
import Engine
import Foundation
import Ledger
import RevenueCatClient
import RevenueCatDouble
import Simulator
import Testing

@testable import Program

/// All ids and the balances of RevenueCat's customers come along, from a double of its API.
@Suite(.serialized) struct RevenueCatImportStories {
    private static func double() throws -> RevenueCatDouble {
        RevenueCatDouble(
            RevenueCatDouble.Project(
                shop: try ExampleShop.file(), entitlements: RehearsalTown.entitlements),
            now: AppStoreDate(milliseconds: Instant.machine.milliseconds))
    }

    /// One pass. Returns the lines of the report, each with its customer.
    private static func run(
        _ double: RevenueCatDouble, into shop: Shop,
        _ change: (inout RevenueCatCustomerImport) -> Void = { _ in }
    ) async throws -> (result: RevenueCatImportResult, lines: [String]) {
        var lines: [String] = []
        var pass = RevenueCatCustomerImport(
            engine: shop.engine, app: "birds",
            client: RehearsalTown.client(of: double, from: { _ in double }),
            project: double.project.id
        ) { _, customer, reason in lines.append("\(customer): \(reason)") }
        change(&pass)
        let result = try await pass.run()
        #expect(result.problems == Int64(lines.count))
        return (result, lines)
    }

    private static func ids(of customer: String, in shop: Shop) async throws -> Set<String> {
        let found = try await shop.support.get("/v1/customers/\(customer)")
        return Set((found["aliases"]?.array ?? []).compactMap(\.string)).union([customer])
    }

    private static func events(_ shop: Shop) async throws -> Int64 {
        try await shop.database.read { try $0.number("SELECT count(*) FROM events") }
    }

    // MARK: - Ids

    @Test(arguments: StoryDatabase.allCases)
    func `every id that RevenueCat counts to a customer leads to this customer here`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database) { shop in
            let bought = try await shop.buyMonth("anna")
            #expect(try await shop.post(bought, as: "anna") == 200)
            let double = try Self.double()
            let others = (1...120).map { RevenueCatPhone.anonymous("phone\($0)") }
            for id in others.prefix(50) + ["anna@example.com"] { double.alias("anna", id) }
            // Nobody here knows ben, so nothing depends on his ids.
            for id in others.suffix(20) { double.alias("ben", id) }
            var faults = RevenueCatDouble.TransportFaults()
            (faults.tooManyRequests, faults.unavailable, faults.cutBodies) = (0.1, 0.1, 0.05)
            (faults.omittedCustomers, faults.repeatedCustomers) = (0.3, 0.5)
            double.set(faults: faults)

            let trial = try await Self.run(double, into: shop) { $0.isTrial = true }
            #expect(trial.result.aliases == 51)
            #expect(try await Self.ids(of: "anna", in: shop) == ["anna"])
            let first = try await Self.run(double, into: shop)
            #expect(first.lines.isEmpty && first.result.aliases == 51)
            #expect(try await Self.ids(of: "anna", in: shop).count == 52)
            for id in ["anna@example.com", others[0], others[49]] {
                let access = try await shop.engine.customers.find(
                    CustomerID(rawValue: id), app: "birds", environment: .production)
                #expect(access.entitlements["pro"]?.isOpen == true, "\(id)")
            }
            #expect(try await !shop.engine.customers.isKnown("ben", app: "birds"))
            let events = try await Self.events(shop)
            #expect(try await Self.run(double, into: shop).result.aliases == 0)
            #expect(try await Self.events(shop) == events)
            #expect(try await shop.engine.maintenance.rebuild(verifyOnly: true).isClean)
        }
    }

    /// Ids that RevenueCat counts to one customer, and what is known of them here.
    private struct Case: Sendable {
        var name: String
        /// The ids of one customer there.
        var there: [String]
        /// The customers here, each with all ids.
        var here: [[String]]
        var erased: [String] = []
        /// A part of the line in the report. Nil if there is none.
        var line: String?
        /// All ids of the customer with the first id there, afterwards.
        var ids: Set<String>
    }

    private static let device = RevenueCatPhone.anonymous("device")

    private static let cases = [
        Case(
            name: "two people here", there: ["anna", "ben"], here: [["anna"], ["ben"]],
            line: "two here", ids: ["anna"]),
        Case(
            name: "a device of another person", there: ["anna", device],
            here: [["anna"], ["ben", device]], line: "two here", ids: ["anna"]),
        Case(
            name: "a device without log-in", there: ["anna", device], here: [["anna"], [device]],
            ids: ["anna", device]),
        Case(
            name: "only the device is known", there: ["anna", device, "anna2"], here: [[device]],
            ids: ["anna", device, "anna2"]),
        Case(
            name: "an id that nobody may have", there: ["anna", "null", "anna2"],
            here: [["anna"]], line: "null", ids: ["anna", "anna2"]),
        Case(
            name: "an erased person", there: ["anna", "anna2", device], here: [["anna"], [device]],
            erased: ["anna"], line: "erased", ids: ["anna"]),
        Case(
            name: "an erased id of a known person", there: ["anna", "old"],
            here: [["anna"], ["old"]], erased: ["old"], line: "erased", ids: ["anna"]),
        Case(
            name: "too many ids", there: ["anna"] + (1...100).map { "more-\($0)" },
            here: [["anna"]], line: "100", ids: Set(["anna"] + (1...99).map { "more-\($0)" })),
    ]

    @Test(arguments: StoryDatabase.allCases)
    func `an import of ids merges no two people, and brings back nobody who was erased`(
        database: StoryDatabase
    ) async throws {
        for row in Self.cases {
            try await withShop(on: database) { shop in
                for ids in row.here {
                    let bought = try await shop.buyMonth("of-\(ids[0].suffix(12))")
                    #expect(try await shop.post(bought, as: ids[0]) == 200)
                    for other in ids.dropFirst() {
                        _ = try await shop.support.post(
                            "/v1/customers/\(ids[0])/aliases", ["customer_id": .string(other)])
                    }
                }
                for id in row.erased {
                    #expect(
                        try await shop.support.send("DELETE", "/v1/customers/\(id)").status == 200)
                }
                let double = try Self.double()
                for id in row.there.dropFirst() { double.alias(row.there[0], id) }
                for _ in 0..<2 {
                    let found = try await Self.run(double, into: shop)
                    #expect(found.lines.count == (row.line == nil ? 0 : 1), "\(row.name)")
                    if let line = row.line {
                        #expect(found.lines.first?.contains(line) == true, "\(row.name)")
                    }
                }
                #expect(
                    try await Self.ids(of: row.there[0], in: shop) == row.ids, "\(row.name)")
                for id in row.erased {
                    let id = CustomerID(rawValue: id)
                    #expect(try await !shop.engine.customers.isKnown(id, app: "birds"))
                }
                #expect(try await shop.engine.maintenance.rebuild(verifyOnly: true).isClean)
            }
        }
    }

    // MARK: - Balances

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
        Balance(id: "unknown", packs: 0, there: 50, expected: 50),
    ]

    private static func buyAndSpend(_ row: Balance, in shop: Shop) async throws {
        guard row.packs > 0 else { return }
        try await shop.addDevice(row.id)
        for _ in 0..<row.packs {
            let bought = try await shop.simulator.post(
                "/_sim/devices/\(row.id)-1/purchases", ["product_id": "seeds.100"])
            #expect(try await shop.post(bought, as: row.id) == 200)
        }
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
    func `a balance is booked once, and what was spent here stays spent`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database, app: RevenueCatPhone.app()) { shop in
            let double = try Self.double()
            for row in Self.balances {
                try await Self.buyAndSpend(row, in: shop)
                double.alias(row.id, "\(row.id)@example.com")
                double.setBalance(row.there, of: "SEED", for: row.id)
            }
            double.setBalance(7, of: "GOLD", for: "same")
            let settings = { (pass: inout RevenueCatCustomerImport) in
                pass.withBalances = true
                pass.currencies = ["SEED": "seeds"]
            }
            let trial = try await Self.run(double, into: shop) {
                settings(&$0)
                $0.isTrial = true
            }
            #expect(trial.result.balances == 6)
            #expect(try await Self.balance(of: "given", in: shop) == 100)
            let first = try await Self.run(double, into: shop, settings)
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
                try await Self.ids(of: "unknown", in: shop) == ["unknown", "unknown@example.com"])

            // A second pass must be asked for, and books nothing again.
            await #expect(throws: StartFailure.self) {
                try await Self.run(double, into: shop, settings)
            }
            for row in Self.balances { double.setBalance(999, of: "SEED", for: row.id) }
            double.setBalance(100, of: "SEED", for: "same")
            double.setBalance(100, of: "SEED", for: "spent-here")
            let events = try await Self.events(shop)
            let again = try await Self.run(double, into: shop) {
                settings(&$0)
                $0.isAnew = true
            }
            #expect(again.result.balances == 0)
            #expect(try await Self.events(shop) == events)
            #expect(try await shop.engine.maintenance.rebuild(verifyOnly: true).isClean)
        }
    }

    @Test func `a balance of an erased customer, or of two people, is not booked`() async throws {
        try await withShop(on: .sqlite, app: RevenueCatPhone.app()) { shop in
            let double = try Self.double()
            for id in ["anna", "ben", "cleo"] {
                try await Self.buyAndSpend(Balance(id: id, there: 0, expected: 0), in: shop)
                double.setBalance(500, of: "seeds", for: id)
            }
            double.alias("ben", "cleo")
            #expect(try await shop.support.send("DELETE", "/v1/customers/anna").status == 200)
            let found = try await Self.run(double, into: shop) { $0.withBalances = true }
            #expect(found.result.balances == 0)
            #expect(found.lines.filter { $0.contains("no balance was imported") }.count == 2)
            #expect(try await !shop.engine.customers.isKnown("anna", app: "birds"))
            for id in ["ben", "cleo"] {
                #expect(try await Self.balance(of: id, in: shop) == 100)
            }
        }
    }

    @Test func `a balance that a script has booked by the documented key is not booked again`()
        async throws
    {
        try await withShop(on: .sqlite, app: RevenueCatPhone.app()) { shop in
            let double = try Self.double()
            double.setBalance(80, of: "SEED", for: "anna")
            let credit: JSON = ["amount": 80, "reason": "from RevenueCat"]
            let answer = try await shop.support.send(
                "POST", "/v1/customers/anna/wallets/seeds/credits", body: credit.bytes,
                headers: [
                    "Content-Type": "application/json",
                    "Idempotency-Key": "revenuecat-balance-SEED-anna",
                ])
            #expect([200, 201].contains(answer.status))
            let found = try await Self.run(double, into: shop) {
                $0.withBalances = true
                $0.currencies = ["SEED": "seeds"]
            }
            #expect(found.result.balances == 0 && found.lines.isEmpty)
            #expect(try await Self.balance(of: "anna", in: shop) == 80)
        }
    }
}

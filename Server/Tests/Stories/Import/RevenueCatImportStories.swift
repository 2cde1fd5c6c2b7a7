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
    static func double() throws -> RevenueCatDouble {
        RevenueCatDouble(
            RevenueCatDouble.Project(
                shop: try ExampleShop.file(), entitlements: RehearsalTown.entitlements),
            now: AppStoreDate(milliseconds: Instant.machine.milliseconds))
    }

    /// One pass. Returns the lines of the report, each with its customer.
    static func run(
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

    static func ids(of customer: String, in shop: Shop) async throws -> Set<String> {
        let found = try await shop.support.get("/v1/customers/\(customer)")
        return Set((found["aliases"]?.array ?? []).compactMap(\.string)).union([customer])
    }

    static func events(_ shop: Shop) async throws -> Int64 {
        try await shop.database.read { try $0.number("SELECT count(*) FROM events") }
    }

    // MARK: - Ids

    @Test(arguments: StoryDatabase.allCases)
    func `after an import, all of a customer's RevenueCat ids identify one customer here`(
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
            (faults.tooManyRequests, faults.unavailable) = (0.1, 0.1)
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
        /// The erased ids that buy again.
        var back: [String] = []
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
            name: "a person who came back after an erasure", there: ["anna", "anna2"],
            here: [["anna"]], erased: ["anna"], back: ["anna"], line: "erased", ids: ["anna"]),
        Case(
            name: "too many ids", there: ["anna"] + (1...100).map { "more-\($0)" },
            here: [["anna"]], line: "100", ids: Set(["anna"] + (1...99).map { "more-\($0)" })),
    ]

    @Test(arguments: StoryDatabase.allCases)
    func `an import of ids never merges two people, and never restores an erased customer`(
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
                for id in row.back {
                    let bought = try await shop.buyMonth("again-\(id)")
                    #expect(try await shop.post(bought, as: id) == 200)
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
                for id in row.erased where !row.back.contains(id) {
                    let id = CustomerID(rawValue: id)
                    #expect(try await !shop.engine.customers.isKnown(id, app: "birds"))
                }
                #expect(try await shop.engine.maintenance.rebuild(verifyOnly: true).isClean)
            }
        }
    }
}

import AppStoreFormats
import Dice
import Engine
import Foundation
import Ledger
import Rehearsal
import RevenueCatClient
import RevenueCatDouble
import Simulator
import Testing

@testable import Program

/// A server and RevenueCat side by side: every planted fault is found and named, and nothing else.
///
/// `PERENNIAL_REHEARSED_CUSTOMERS=10000` makes the populations as large as a real project; it takes
/// some minutes.
@Suite(.serialized) struct RehearsalStories {
    private static let customersUsual = 150
    private static var customers: Int {
        ProcessInfo.processInfo.environment["PERENNIAL_REHEARSED_CUSTOMERS"].flatMap { Int($0) }
            ?? customersUsual
    }

    /// The causes that a rehearsal may report for a fault.
    private static func causes(of kind: PlantedFault.Kind) -> Set<RehearsalCause> {
        switch kind {
        case .late: [.lateThere]
        // If the lost document is a refund, a system that lost it looks like one that ignores it.
        case .lost: [.missedThere, .refundIgnoredThere]
        case .wrongGrant: [.grantedThere]
        case .lostAlias: [.aliasUnknownThere]
        case .refundIgnored: [.refundIgnoredThere]
        case .familyMistaken: [.familySharing]
        case .sandboxMistaken: [.sandbox]
        // A product with other entitlements is a difference of entitlements, too.
        case .wrongProduct: [.productMapping, .entitlementMapping]
        case .graceIgnored: [.billingReading]
        }
    }

    /// The differences that a rehearsal finds without faults: RevenueCat counts sandbox purchases.
    private static let usualCauses: Set<RehearsalCause> = [.sandbox]

    @Test func `without faults, the two systems agree about everybody`() async throws {
        let seed = Dice.seed(announcedBy: "RehearsalStories", usual: 1)
        let town = try await RehearsalTown.played(
            Self.customers, months: 4, seed: seed)
        let result = try await town.rehearse()
        let strange = result.findings.filter { !Self.usualCauses.contains($0.cause) }
        for finding in strange.prefix(20) {
            Issue.record("seed \(seed): \(finding.fields.joined(separator: " | "))")
        }
        #expect(result.summary.customers >= town.customers.count)
        #expect(result.summary.entitlements > town.customers.count / 8)
        #expect(result.summary.unexplained == 0)
    }

    @Test func `every planted fault is found and named, and no other fault is reported`()
        async throws
    {
        let seed = Dice.seed(announcedBy: "RehearsalStories", usual: 2)
        let town = try await RehearsalTown.played(
            Self.customers, months: 4, seed: seed)
        let count = max(3, Self.customers / 200)
        // Most refunds and most family purchases are about periods that have ended.
        let rare: Set<PlantedFault.Kind> = [.refundIgnored, .familyMistaken]
        let planted = town.double.plant(
            Dictionary(
                uniqueKeysWithValues: PlantedFault.Kind.allCases.map {
                    ($0, rare.contains($0) ? 5 * count : count)
                }), seed: seed)
        var faults = RevenueCatDouble.TransportFaults()
        faults.seed = seed
        faults.tooManyRequests = 0.05
        faults.unavailable = 0.05
        faults.omittedCustomers = 0.1
        faults.repeatedCustomers = 0.1
        town.double.set(faults: faults)
        let before = try await town.rehearse(secondLook: false)
        let result = try await town.rehearse()
        Self.check(result, against: planted, seed: seed)
        // Late documents are missing only in the first comparison.
        #expect((result.summary.causes[.lateThere] ?? 0) > 0, "seed \(seed)")
        #expect(
            before.summary.causes[.missedThere] ?? 0 > result.summary.causes[.missedThere] ?? 0,
            "seed \(seed)")
    }

    @Test func `after too many differences, a rehearsal says that it is incomplete`() async throws {
        let seed = Dice.seed(announcedBy: "RehearsalStories", usual: 3)
        let town = try await RehearsalTown.played(40, months: 2, seed: seed)
        #expect(town.double.plant([.wrongGrant: 6], seed: seed).count == 6)
        let whole = try await town.rehearse()
        #expect(whole.isComplete && whole.summary.differences >= 6)
        let stopped = try await town.rehearse { $0.differencesMax = 2 }
        #expect(!stopped.isComplete)
        #expect((2..<whole.summary.differences).contains(stopped.summary.differences))
        #expect(stopped.summary.customers < whole.summary.customers)
        let lines = RehearsalText.lines(of: stopped.claims(project: "proj1", report: ""))
        #expect(lines.contains { $0.hasPrefix("Incomplete: ") })
    }

    private static func check(
        _ result: RehearsalResult, against planted: [PlantedFault], seed: UInt64
    ) {
        var faults: [CustomerID: PlantedFault] = [:]
        for fault in planted {
            for id in fault.ids + [fault.customer] { faults[CustomerID(rawValue: id)] = fault }
        }
        var found: Set<PlantedFault> = []
        for finding in result.findings {
            if let fault = faults[finding.customer],
                causes(of: fault.kind).contains(finding.cause)
            {
                found.insert(fault)
            } else if !usualCauses.contains(finding.cause) {
                let fault = faults[finding.customer].map { "\($0)" } ?? "no fault"
                Issue.record(
                    "seed \(seed), \(fault): \(finding.fields.joined(separator: " | "))")
            }
        }
        // These change active entitlements. The others may be about a purchase that has ended.
        let visible: Set<PlantedFault.Kind> = [.late, .lost, .wrongGrant]
        for fault in planted where visible.contains(fault.kind) && !found.contains(fault) {
            Issue.record("seed \(seed): not found: \(fault)")
        }
        // Small populations have hardly any refund of a period that still runs.
        let rare: Set<PlantedFault.Kind> =
            customers < 1_000 ? [.refundIgnored, .familyMistaken] : []
        let kinds = Set(found.map(\.kind)).union(rare)
        for kind in Set(planted.map(\.kind)).subtracting(kinds) {
            Issue.record("seed \(seed): no fault of the kind \(kind) was found")
        }
        print("rehearsal, seed \(seed):", result.summary.verdict, result.summary.causes)
    }

    @Test func `a refund that RevenueCat ignores is named, with Apple's document`() async throws {
        try await withShop(on: .sqlite) { shop in
            let bought = try await shop.buyMonth("anna")
            #expect(try await shop.post(bought, as: "anna") == 200)
            try await CopiedDocumentStories.pass("PT1H", in: shop)
            let id = try bought.text("transaction_id")
            try await shop.simulator.post("/_sim/transactions/\(id)/refund")
            try await CopiedDocumentStories.pass("PT1H", in: shop)
            let double = RevenueCatDouble(
                RevenueCatDouble.Project(
                    shop: try ExampleShop.file(), entitlements: RehearsalTown.entitlements),
                now: AppStoreDate(milliseconds: shop.engine.context.serverTime.milliseconds))
            for body in try await shop.notifications() { double.receive(notification: body) }
            double.logIn("anna", purchase: try bought.text("original_transaction_id"))
            var run = RehearsalRun(
                engine: shop.engine, app: "birds",
                client: RehearsalTown.client(of: double) { _ in double })
            #expect(try await run.run().findings.isEmpty)
            #expect(double.plant([.refundIgnored: 1], seed: 1).count == 1)
            run = RehearsalRun(
                engine: shop.engine, app: "birds",
                client: RehearsalTown.client(of: double) { _ in double })
            let findings = try await run.run().findings
            #expect(Set(findings.map(\.entitlement)) == ["pro", "plus"])
            for finding in findings {
                #expect(finding.cause == .refundIgnoredThere && finding.effect == .loses)
                #expect(finding.here.contains("document ") && finding.there.contains(id))
            }
            run = RehearsalRun(
                engine: shop.engine, app: "birds",
                client: RehearsalTown.client(of: double) { _ in double })
            run.rules.lateness = .hours(2)
            #expect(try await run.run().findings.allSatisfy { $0.cause == .lateThere })
        }
    }

    @Test func `the signed summary is verified, and a changed report is noticed`() async throws {
        let town = try await RehearsalTown.played(12, months: 1, seed: 3)
        let result = try await town.rehearse()
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let report = try RehearsalReport(at: folder.path + "/rehearsal.csv")
        let engine = town.engine
        try await report.write(result, project: "proj1") {
            try #require(try await engine.rehearsals.sign($0, of: RehearsalTown.app))
        }
        let verify: (String) async throws -> JSON? = {
            try await engine.rehearsals.verify($0, of: RehearsalTown.app)
        }
        // The summary can still be verified with a key that was rotated later.
        _ = try await engine.tokens.rotateKey(of: RehearsalTown.app)
        let (lines, isClean) = try await RehearsalReport.verify(
            report.summary.path, verify: verify)
        #expect(isClean == (result.summary.unexplained == 0))
        #expect(lines.contains { $0.hasSuffix(result.summary.verdict) })
        #expect(lines.last?.hasPrefix("The signature is valid") == true)
        // Only this user can read the files.
        for file in [report.csv, report.summary] {
            let attributes = try FileManager.default.attributesOfItem(atPath: file.path)
            #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
        }
        let renamed = folder.path + "/summary.txt"
        try FileManager.default.copyItem(atPath: report.summary.path, toPath: renamed)
        let partly = try await RehearsalReport.verify(renamed, verify: verify)
        #expect(partly.lines.last?.contains("The report was not checked") == true)
        // A second report replaces the first.
        _ = try RehearsalReport(at: report.csv.path)
        let text = try String(contentsOf: report.csv, encoding: .utf8)
        try Data((text + "x").utf8).write(to: report.csv)
        await #expect(throws: StartFailure.self) {
            try await RehearsalReport.verify(report.summary.path, verify: verify)
        }
        let signed = try String(contentsOf: report.summary, encoding: .utf8)
        let place = signed.index(signed.startIndex, offsetBy: signed.count / 2)
        let other: Character = signed[place] == "A" ? "B" : "A"
        try Data(signed.replacingCharacters(in: place...place, with: "\(other)").utf8)
            .write(to: report.summary)
        await #expect(throws: StartFailure.self) {
            try await RehearsalReport.verify(report.summary.path, verify: verify)
        }
        // A customer's token is not accepted as a summary.
        let state = try await engine.customers.find(
            "anna", app: RehearsalTown.app, environment: .production)
        let token = try await engine.tokens.issue(for: state, app: RehearsalTown.app)
        #expect(try await verify(token ?? "none") == nil)
        try Data("a,b\n".utf8).write(to: report.csv)
        #expect(throws: StartFailure.self) { try RehearsalReport(at: report.csv.path) }
        #expect(throws: StartFailure.self) { try RehearsalReport(at: folder.path + "/no/b.csv") }
    }

    @Test func `a rehearsal writes nothing, and ends if its key expires`() async throws {
        let town = try await RehearsalTown.played(12, months: 1, seed: 4)
        var faults = RevenueCatDouble.TransportFaults()
        faults.keyExpiresAfter = 9
        town.double.set(faults: faults)
        await #expect(throws: RevenueCatClientFailure.keyRefused(wasAccepted: true)) {
            try await town.rehearse()
        }
        faults.keyExpiresAfter = nil
        town.double.set(faults: faults)
        let before = try await town.engine.events.lastLogPosition(of: RehearsalTown.app)
        _ = try await town.rehearse()
        let after = try await town.engine.events.lastLogPosition(of: RehearsalTown.app)
        #expect(before == after)
        faults.htmlPages = 1
        town.double.set(faults: faults)
        await #expect(throws: RevenueCatClientFailure.self) { try await town.rehearse() }
    }
}

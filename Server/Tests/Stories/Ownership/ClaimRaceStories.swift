import AppStoreFormats
import Engine
import Ledger
import Logging
import Testing

@testable import Program

/// Several servers on one database get claims of the same purchase at the same moment.
@Suite(.serialized) struct ClaimRaceStories {
    private static let servers = 3
    private static let places = 4
    private static let claimants = 24

    private static var app: AppConfiguration {
        var app = birds
        app.settings.shareRules = [
            .production: OwnershipClaim.ShareRules(anonymousMost: places)
        ]
        return app
    }

    private static func device(_ number: Int) -> CustomerID {
        CustomerID(rawValue: "anon_\(number)".padding(toLength: 40, withPad: "x", startingAt: 0))
    }

    /// Runs a simulator, and servers on its clock that share a database.
    private static func withServers(
        on database: StoryDatabase,
        _ story: @escaping @Sendable (Shop, [Engine]) async throws -> Void
    ) async throws {
        try await withShop(on: .sqlite, notifies: false) { shop in
            try await database.withAddress { address in
                // An SQLite file can have only one server.
                var assemblies: [Assembly] = []
                for _ in 0..<(database == .sqlite ? 1 : servers) {
                    assemblies.append(
                        try await Assembly(
                            apps: [app], databaseAddress: address,
                            simulatorRoot: shop.authority.rootDER,
                            receiptRoot: try shop.authority.receipts.rootDER,
                            now: { shop.engine.context.serverTime },
                            logger: Logger(label: "race") { _ in SwiftLogNoOpLogHandler() }))
                }
                try await story(shop, assemblies.map(\.engine))
                for assembly in assemblies { assembly.database.close() }
            }
        }
    }

    private static func post(
        _ signed: String, as customer: CustomerID, _ intent: OwnershipClaim.Intent,
        to engine: Engine
    ) async throws -> OwnershipResult.Kind? {
        let evidence = PurchaseEvidence(signedTransactions: [signed])
        // A busy server says so, and the client repeats the request.
        for _ in 0..<100 {
            do throws(EngineFailure) {
                return try await engine.recording.post(
                    evidence, of: customer, intent: intent, app: "birds"
                )
                .ownerships.first?.kind
            } catch {
                guard error == .busy else { throw error }
            }
        }
        throw EngineFailure.busy
    }

    /// Lets all claimants post at the same time. Returns the verdict for each.
    private static func race(
        _ claimants: [CustomerID], _ signed: String, _ intent: OwnershipClaim.Intent,
        at engines: [Engine]
    ) async throws -> [CustomerID: OwnershipResult.Kind] {
        try await withThrowingTaskGroup(
            of: (CustomerID, OwnershipResult.Kind?).self
        ) { tasks in
            for (number, claimant) in claimants.enumerated() {
                let engine = engines[number % engines.count]
                tasks.addTask {
                    (claimant, try await post(signed, as: claimant, intent, to: engine))
                }
            }
            return try await tasks.reduce(into: [:]) { $0[$1.0] = $1.1 }
        }
    }

    private static func isOpen(_ customer: CustomerID, at engine: Engine) async throws -> Bool {
        try await engine.customers.find(customer, app: "birds", environment: .production)
            .entitlements["pro"]?.isOpen == true
    }

    private static func signedNow(in shop: Shop) async throws -> String {
        try await shop.simulator.post("/_sim/clock", ["advance": "PT1M"])
        let restored = try await shop.simulator.post("/_sim/devices/anna-1/restore")
        return try #require(restored["signed_transactions"]?.array?.last?.string)
    }

    @Test(.timeLimit(.minutes(5)), arguments: StoryDatabase.allCases)
    func `if many devices claim a purchase at once, only the allowed number of devices get a share`(
        database: StoryDatabase
    ) async throws {
        try await Self.withServers(on: database) { shop, engines in
            let copy = try await shop.buyMonth("anna").text("signed_transaction")
            let phone = Self.device(0)
            #expect(try await Self.post(copy, as: phone, .purchase, to: engines[0]) == .linked)
            let thieves = (1...Self.claimants).map(Self.device)
            let first = try await Self.race(thieves, copy, .restore, at: engines)
            #expect(first.values.count { $0 == .shared } == Self.places)
            #expect(
                first.values.count { $0 == .another(.sharedWithMost) }
                    == Self.claimants - Self.places)
            // Claims with newer documents take all places, each place once.
            let now = try await Self.signedNow(in: shop)
            let own = (101...100 + Self.places).map(Self.device)
            let second = try await Self.race(own + thieves, now, .sync, at: engines)
            #expect(second.values.count { $0 == .shared } >= Self.places)
            var open = 0
            for device in own + thieves where try await Self.isOpen(device, at: engines[0]) {
                open += 1
            }
            #expect(open == Self.places)
            #expect(try await Self.isOpen(phone, at: engines[0]))
            #expect(try await engines[0].maintenance.rebuild(verifyOnly: true).isClean)
        }
    }

    @Test(.timeLimit(.minutes(5)), arguments: StoryDatabase.allCases)
    func `if many people restore a copy at once, one gets the purchase until the buyer restores it`(
        database: StoryDatabase
    ) async throws {
        try await Self.withServers(on: database) { shop, engines in
            let copy = try await shop.buyMonth("anna").text("signed_transaction")
            let phone = Self.device(0)
            #expect(try await Self.post(copy, as: phone, .purchase, to: engines[0]) == .linked)
            let thieves = (1...Self.claimants).map { CustomerID(rawValue: "thief-\($0)") }
            let taken = try await Self.race(thieves, copy, .restore, at: engines)
            #expect(taken.values.count { $0 == .moved } == 1)
            #expect(taken.values.count { $0 == .another(.documentTooOld) } == Self.claimants - 1)
            let now = try await Self.signedNow(in: shop)
            async let own = Self.post(now, as: phone, .restore, to: engines[0])
            async let others = Self.race(thieves, copy, .restore, at: engines)
            let (kind, kinds) = try await (own, others)
            #expect(kind == .moved)
            #expect(kinds.values.allSatisfy { $0 != .moved })
            for thief in thieves {
                #expect(try await !Self.isOpen(thief, at: engines[0]), "\(thief)")
            }
            #expect(try await Self.isOpen(phone, at: engines[0]))
            #expect(try await engines[0].maintenance.rebuild(verifyOnly: true).isClean)
        }
    }

    @Test(.timeLimit(.minutes(5)), arguments: StoryDatabase.allCases)
    func `if many persons sign in on one device at once, one person gets the purchase`(
        database: StoryDatabase
    ) async throws {
        try await Self.withServers(on: database) { shop, engines in
            let copy = try await shop.buyMonth("anna").text("signed_transaction")
            let phone = Self.device(0)
            #expect(try await Self.post(copy, as: phone, .purchase, to: engines[0]) == .linked)
            let people = (1...Self.claimants).map { CustomerID(rawValue: "person-\($0)") }
            let failures = try await withThrowingTaskGroup(of: EngineFailure?.self) { tasks in
                for (number, person) in people.enumerated() {
                    let engine = engines[number % engines.count]
                    tasks.addTask {
                        for _ in 0..<100 {
                            do throws(EngineFailure) {
                                _ = try await engine.customers.alias(
                                    phone, to: person, app: "birds", environment: .production,
                                    proofs: [])
                                return nil
                            } catch {
                                guard error == .busy else { return error }
                            }
                        }
                        return .busy
                    }
                }
                return try await tasks.reduce(into: []) { $0.append($1) }
            }
            #expect(failures.count { $0 == nil } == 1)
            #expect(failures.compactMap(\.self).allSatisfy { $0.isRefusedAlias })
            var open = 0
            for person in people where try await Self.isOpen(person, at: engines[0]) { open += 1 }
            #expect(open == 1)
            #expect(try await engines[0].maintenance.rebuild(verifyOnly: true).isClean)
        }
    }
}

extension EngineFailure {
    fileprivate var isRefusedAlias: Bool {
        switch self {
        case .aliasJoinsTwoPeople, .aliasNotProven: true
        default: false
        }
    }
}

import AppStoreFormats
import Dice
import RevenueCatDouble
import Simulator
import Testing

@Suite struct RevenueCatDoubleTests {
    private static let seed = Dice.seed(announcedBy: "RevenueCatDoubleTests", usual: 4)

    private func town(_ count: Int = 300, months: Int = 8) async throws -> Town {
        try await Town.played(count, months: months, seed: Self.seed)
    }

    /// What is open according to the simulator, with its end in milliseconds; nil for no end.
    private func truth(
        _ customer: RevenueCatPopulation.Customer, in town: Town
    ) async throws -> [String: Int64?] {
        let rights = Town.entitlements(try FullShop.file())
        var open: [String: Int64?] = [:]
        for purchase in try await town.books(of: customer) where purchase.isOpen {
            for (name, products) in rights where products.contains(purchase.productID) {
                let until = purchase.until?.milliseconds
                let known = open[name] ?? 0
                open[name] = .some(known.flatMap { known in until.map { max($0, known) } })
            }
        }
        return open
    }

    @Test func `without faults, the double's answers equal the simulator's ground truth`()
        async throws
    {
        var openCount = 0
        let town = try await Town.played(300, months: 8, seed: Self.seed) { town in
            for customer in town.customers {
                let truth = try await truth(customer, in: town)
                openCount += truth.count
                for id in customer.ids {
                    let place = "\(customer.account) at \(town.double.now), seed \(Self.seed)"
                    #expect(try await town.active(id) == truth, "\(place)")
                }
            }
        }
        #expect(town.customers.count > 250 && openCount > 400)
    }

    private static let statuses: [TruePurchase.State: String] = [
        .trial: "trialing", .offer: "active", .paid: "active", .grace: "in_grace_period",
        .retry: "in_billing_retry",
    ]

    @Test func `each running subscription has the same state as in the simulator's ground truth`()
        async throws
    {
        var seen: Set<String> = []
        _ = try await Town.played(300, months: 8, seed: Self.seed) { town in
            for customer in town.customers {
                let open = try await town.books(of: customer).filter {
                    $0.renewsTo != nil && $0.environment == .production
                }
                let expected = open.compactMap { purchase in
                    let next = purchase.willRenew ? "another" : "none"
                    return Self.statuses[purchase.state].map {
                        [
                            purchase.productID, $0, purchase.ownership.rawValue.lowercased(),
                            purchase.nextBegins == nil ? next : "charged",
                        ].joined(separator: " ")
                    }
                }
                let shown = try await town.openSubscriptions(of: customer.ids[0])
                #expect(
                    Set(shown) == Set(expected),
                    "\(customer.account) at \(town.double.now), seed \(Self.seed)")
                seen.formUnion(shown)
            }
        }
        for status in Self.statuses.values {
            #expect(seen.contains { $0.contains(" \(status) ") }, "seed \(Self.seed)")
        }
    }

    @Test func `both versions of the API open the same entitlements`() async throws {
        let town = try await town()
        let now = try #require(
            try JSON(parsing: town.v1("nobody").body)["request_date"]?.string)
        for customer in town.customers {
            let info = try JSON(parsing: town.v1(customer.appUserID).body)["subscriber"]
            let products = Set(
                ["subscriptions", "non_subscriptions"].flatMap { info?[$0]?.members ?? [] }
                    .map(\.key))
            let active = (info?["entitlements"]?.members ?? []).filter { entitlement in
                // Texts of times in UTC sort in the order of the times.
                (entitlement.value["expires_date"]?.string).map { $0 > now } ?? true
            }
            #expect(
                try await Set(town.active(customer.appUserID).keys) == Set(active.map(\.key)),
                "\(customer.account), seed \(Self.seed)")
            // The SDK drops an entitlement whose product is not in the answer.
            #expect(
                active.allSatisfy {
                    products.contains($0.value["product_identifier"]?.string ?? "")
                }, "\(customer.account), seed \(Self.seed)")
        }
    }

    // MARK: - Planted faults

    private static let counts: [PlantedFault.Kind: Int] = [
        .late: 3, .lost: 3, .wrongGrant: 2, .lostAlias: 2, .refundIgnored: 2, .familyMistaken: 2,
        .sandboxMistaken: 1, .wrongProduct: 2, .graceIgnored: 1,
    ]

    @Test func `only the customers with planted faults get a different answer`() async throws {
        let town = try await town(1_500)
        var before: [String: [String]] = [:]
        for id in town.customers.flatMap(\.ids) { before[id] = try await town.shown(id) }
        let planted = town.double.plant(Self.counts, seed: Self.seed)
        #expect(planted == town.double.planted)
        // Few customers are in the sandbox, and most of their purchases are over.
        let frequent = Set(PlantedFault.Kind.allCases).subtracting([.sandboxMistaken])
        #expect(frequent.isSubset(of: planted.map(\.kind)), "seed \(Self.seed)")
        let changed = try await changedCustomers(town, since: before)
        #expect(changed == Set(planted.map(\.customer)), "seed \(Self.seed)")
    }

    /// The first id of each customer for whom the answer about any of the ids has changed.
    private func changedCustomers(
        _ town: Town, since before: [String: [String]]
    ) async throws -> Set<String> {
        var changed: Set<String> = []
        for customer in town.customers {
            for id in customer.ids where try await town.shown(id) != before[id] {
                changed.insert(customer.ids[0])
            }
        }
        return changed
    }

    @Test func `a late notification is applied later, and a lost notification is never applied`()
        async throws
    {
        let (town, honest) = (try await town(), try await town())
        let planted = town.double.plant([.late: 3, .lost: 3], seed: Self.seed)
        #expect(planted.count == 6)
        for fault in planted {
            #expect(try await town.shown(fault.customer) != honest.shown(fault.customer))
        }
        let later = try #require(planted.compactMap(\.until).max())
        town.double.set(now: later)
        honest.double.set(now: later)
        for fault in planted {
            let isEqual = try await town.shown(fault.customer) == honest.shown(fault.customer)
            #expect(isEqual == (fault.kind == .late), "\(fault), seed \(Self.seed)")
        }
    }
}

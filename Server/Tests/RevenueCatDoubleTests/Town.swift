import AppStoreFormats
import RevenueCatDouble
import Simulator
import Testing

/// A simulated App Store with random customers, and a double that has learned everything about
/// them.
struct Town: Sendable {
    let simulators: [AppStoreSimulator]
    let double: RevenueCatDouble
    let customers: [RevenueCatPopulation.Customer]

    /// Each group of subscriptions, and each one-time product, gives an entitlement.
    static func entitlements(_ shop: StoreKitFile) -> [String: [String]] {
        let groups = shop.groups.map { ($0.name.lowercased(), $0.subscriptions.map(\.id)) }
        let rest = shop.oneTimeProducts.map { ($0.id, [$0.id]) }
        return Dictionary(groups + rest) { one, _ in one }
    }

    /// Plays random lives. Everything depends on the seed.
    ///
    /// - Parameter eachMonth: called every thirty days, and at the end.
    static func played(
        _ count: Int, months: Int, seed: UInt64,
        eachMonth: (Town) async throws -> Void = { _ in }
    ) async throws -> Town {
        let shop = try FullShop.file()
        let simulators = try RevenueCatPopulation.simulators(for: count, shop, seed: seed) {
            $0.renewsEarlySeconds = 3600
            $0.graceForPaidOnly = true
        }
        let now = simulators[0].clock.now
        let project = RevenueCatDouble.Project(shop: shop, entitlements: entitlements(shop))
        let double = RevenueCatDouble(project, now: now)
        var population = RevenueCatPopulation(seed: seed)
        var days = 0
        try await population.play(
            count, within: .months(months), on: simulators, into: double,
            eachDay: { customers in
                days += 1
                guard days.isMultiple(of: 30) else { return }
                try await eachMonth(
                    Town(simulators: simulators, double: double, customers: customers))
            })
        return Town(simulators: simulators, double: double, customers: population.customers)
    }

    /// What a customer has bought, according to the App Store's own books.
    func books(of customer: RevenueCatPopulation.Customer) async throws -> [TruePurchase] {
        try await simulators[customer.world].groundTruth(of: customer.account).purchases
    }

    // MARK: - Requests

    func v2(_ path: String) async -> RevenueCatDouble.Answer {
        await double.respond(
            to: "/v2/projects/\(double.project.id)/\(path)",
            authorization: "Bearer \(double.project.v2Key)")
    }

    func v1(_ customer: String) -> RevenueCatDouble.Answer {
        double.answer(
            "GET", "/v1/subscribers/\(Self.encoded(customer))",
            headers: ["authorization": "Bearer \(double.project.v1Key)"], body: [])
    }

    func items(_ path: String) async throws -> [JSON] {
        let answer = await v2(path)
        try #require(answer.status == 200, "\(path): \(answer.status)")
        return try JSON(parsing: answer.body)["items"]?.array ?? []
    }

    /// The ids in all pages of the list of customers, in order.
    func listedCustomers(limit: Int) async throws -> [String] {
        var ids: [String] = []
        var next: String? = "/v2/projects/\(double.project.id)/customers?limit=\(limit)"
        while let path = next {
            let answer = await double.respond(
                to: path, authorization: "Bearer \(double.project.v2Key)")
            try #require(answer.status == 200)
            let page = try JSON(parsing: answer.body)
            ids += (page["items"]?.array ?? []).compactMap { $0["id"]?.string }
            next = page["next_page"]?.string
            try #require(ids.count < 100_000, "The list has no end.")
        }
        return ids
    }

    static func encoded(_ id: String) -> String {
        id.replacing("%", with: "%25").replacing(":", with: "%3A").replacing("/", with: "%2F")
    }

    // MARK: - Short answers

    /// The active entitlements of a customer, with their ends in milliseconds.
    func active(_ customer: String) async throws -> [String: Int64?] {
        let names = Dictionary(
            double.project.entitlements.map { ($0.id, $0.lookupKey) }
        ) { one, _ in one }
        let all = try await items(
            "customers/\(Self.encoded(customer))/active_entitlements?limit=99")
        return Dictionary(
            all.map {
                (names[$0["entitlement_id"]?.string ?? ""] ?? "?", $0["expires_at"]?.integer)
            }
        ) { one, _ in one }
    }

    /// The subscriptions that are not over: product, status, ownership and what follows the current
    /// period: another one, none, or one that has been charged.
    func openSubscriptions(of customer: String) async throws -> [String] {
        let products = Dictionary(
            double.project.products.map { ($0.id, $0.storeIdentifier) }
        ) { one, _ in one }
        let all = try await items(
            "customers/\(Self.encoded(customer))/subscriptions?limit=99&environment=production")
        let hasScheduled = all.contains { $0["status"] == "incomplete" }
        return all.filter { !["expired", "incomplete"].contains($0["status"]?.string) }.map {
            let next = $0["auto_renewal_status"]?.string ?? ""
            let isCharged =
                next == "has_already_renewed" || next == "will_change_product" && hasScheduled
            return [
                products[$0["product_id"]?.string ?? ""] ?? "?", $0["status"]?.string ?? "",
                $0["ownership"]?.string ?? "",
                isCharged ? "charged" : next == "will_not_renew" ? "none" : "another",
            ].joined(separator: " ")
        }
    }

    /// The answer about a customer who has not lost an id: entitlements and purchases.
    func shown(_ customer: String) async throws -> [String] {
        let path = "customers/\(Self.encoded(customer))/"
        guard await v2(path + "aliases").status == 200 else { return ["unknown"] }
        let entitlements = try await active(customer).map { "\($0) \($1 ?? 0)" }.sorted()
        let subscriptions = try await items(path + "subscriptions?limit=99").map(\.text)
        return entitlements + subscriptions
            + (try await items(path + "purchases?limit=99"))
            .map(\.text)
    }
}

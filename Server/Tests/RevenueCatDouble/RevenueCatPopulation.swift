import AppStoreFormats
import Simulator

/// Random customers of the simulated App Store, and who they are at RevenueCat.
///
/// Simulators play their lives. Each notification is passed on in the order of time, so that a
/// server can receive the same documents as the double. The seeds decide everything.
///
/// Customers withdraw products from sale now and then, so that after a year a world with many
/// customers has little left to sell. Therefore a large population needs several simulators, which
/// are played day by day at the same time.
package struct RevenueCatPopulation: Sendable {
    /// Maximum number of customers of one population.
    package static let customersMax = Population.accountsMax
    /// The number of customers for whom one simulator has enough to sell.
    package static let customersOfSimulator = 500
    /// The time between two readings of a simulator's notifications. It stores 20,000 of them, so
    /// its customers must not cause more than that in a day.
    private static let step = ISODuration.days(1)

    /// A customer who has bought something.
    package struct Customer: Hashable, Sendable {
        /// The place of the simulator among those that were played.
        package let world: Int
        /// The name of the account in the simulator.
        package let account: String
        /// The ids at RevenueCat, oldest first.
        package let ids: [String]
        /// The app account token of the customer's own purchases. Nil if they have none.
        package let token: String?
        /// The original transaction ids, also of purchases that the family shares, in the order of
        /// their first notifications.
        package fileprivate(set) var purchases: [String] = []

        /// The id by which the app knows the customer: the one that was added last.
        package var appUserID: String { ids[ids.count - 1] }
        /// The other ids.
        package var aliases: [String] { Array(ids.dropLast()) }
    }

    /// A notification that the App Store would post.
    package struct Document: Sendable {
        package let at: AppStoreDate
        /// The place of the simulator among those that were played.
        package let world: Int
        /// The account that the notification concerns. Nil for none.
        package let account: String?
        /// The original transaction id. Nil if the notification is not about a purchase.
        package let purchase: String?
        package let signedPayload: String

        /// The body that the App Store posts.
        package var body: [UInt8] {
            let json: JSON = ["signedPayload": .string(signedPayload)]
            return json.bytes
        }
    }

    /// Notifications were removed before they were read.
    package struct Overflow: Error {}

    private let seed: UInt64
    private var places: [String: Int] = [:]
    /// The customers who have bought something, in the order of their first notifications.
    package private(set) var customers: [Customer] = []

    /// - Parameter seed: decides the customers' ids.
    package init(seed: UInt64) { self.seed = seed }

    /// Makes a simulator that posts nothing, for a population of its own.
    ///
    /// - Parameter change: changes the settings of the world.
    /// - Throws: `SigningFailure`.
    package static func simulator(
        _ shop: StoreKitFile, seed: UInt64, now: AppStoreDate = SimulatorSettings.defaultNow,
        authority: SigningAuthority? = nil, _ change: (inout SimulatorSettings) -> Void = { _ in }
    ) throws -> AppStoreSimulator {
        var settings = SimulatorSettings(seed: seed, now: now, shop: shop)
        change(&settings)
        let authority = try authority ?? SigningAuthority(seed: seed)
        return AppStoreSimulator(settings, authority: authority.fast) { _, _ in
            PostResult(status: 200)
        }
    }

    /// Makes as many simulators as a number of customers needs, with one authority. Their seeds,
    /// and so the ids of their transactions, differ.
    ///
    /// - Throws: `SigningFailure`.
    package static func simulators(
        for customers: Int, _ shop: StoreKitFile, seed: UInt64,
        now: AppStoreDate = SimulatorSettings.defaultNow, authority: SigningAuthority? = nil,
        _ change: (inout SimulatorSettings) -> Void = { _ in }
    ) throws -> [AppStoreSimulator] {
        let authority = try authority ?? SigningAuthority(seed: seed)
        let count = max(1, (customers + customersOfSimulator - 1) / customersOfSimulator)
        return try (0..<count).map { number in
            try simulator(
                shop, seed: seed &+ UInt64(number), now: now, authority: authority, change)
        }
    }

    /// Plays customers on one simulator; see the function for several.
    package mutating func play(
        _ count: Int, within span: ISODuration, on simulator: AppStoreSimulator,
        into double: RevenueCatDouble, _ take: (Document) async throws -> Void = { _ in },
        eachDay: ([Customer]) async throws -> Void = { _ in }
    ) async throws {
        try await play(
            count, within: span, on: [simulator], into: double, take, eachDay: eachDay)
    }

    /// Adds customers to simulators, in equal parts, and plays their lives until the end of a span.
    /// The double learns each notification, and who has bought; its time follows the simulators',
    /// which must be the same.
    ///
    /// - Parameters:
    ///   - take: receives each notification after the double.
    ///   - eachDay: called at the end of each day, when everything that is due has been passed on.
    /// - Throws: `SimulatorProblem` if there are too many customers, ``Overflow``, and what the two
    ///   functions throw.
    package mutating func play(
        _ count: Int, within span: ISODuration, on simulators: [AppStoreSimulator],
        into double: RevenueCatDouble, _ take: (Document) async throws -> Void = { _ in },
        eachDay: ([Customer]) async throws -> Void = { _ in }
    ) async throws {
        guard let first = simulators.first else { return }
        let part = (count + simulators.count - 1) / simulators.count
        var numbers: [Int] = []
        for simulator in simulators {
            numbers.append(await simulator.sentNotificationsCount)
            _ = try await simulator.populate(part, within: span)
        }
        let end = AppStoreDate(
            milliseconds: first.clock.now.milliseconds + Self.milliseconds(of: span))
        while first.clock.now < end {
            var day: [(world: Int, notification: SentNotification)] = []
            for (world, simulator) in simulators.enumerated() {
                try await simulator.advance(by: Self.step)
                let (made, next) = await simulator.notifications(from: numbers[world])
                guard made.count == next - numbers[world] else { throw Overflow() }
                numbers[world] = next
                day += made.filter { $0.v1 == nil && !$0.isStray }.map { (world, $0) }
            }
            // Swift's sort keeps the order of equal elements.
            for (world, notification) in day.sorted(by: {
                $0.notification.draft.at < $1.notification.draft.at
            }) {
                try await take(
                    await receive(notification, of: world, from: simulators[world], into: double))
            }
            double.set(now: first.clock.now)
            try await eachDay(customers)
        }
    }

    /// A span in whole days. Months have 30 days here, because only the order of days matters.
    private static func milliseconds(of span: ISODuration) -> Int64 {
        Int64(span.months * 30 + span.days) * 86_400_000 + span.milliseconds
    }

    private mutating func receive(
        _ notification: SentNotification, of world: Int, from simulator: AppStoreSimulator,
        into double: RevenueCatDouble
    ) async -> Document {
        let draft = notification.draft
        double.set(now: draft.at)
        let purchase = double.receive(signedPayload: notification.signedPayload)
        if let purchase, let account = draft.account {
            let token = await simulator.accountToken(on: "\(account)-1")
            record(purchase, of: account, in: world, token: token, double)
        }
        return Document(
            at: draft.at, world: world, account: draft.account, purchase: purchase,
            signedPayload: notification.signedPayload)
    }

    private mutating func record(
        _ purchase: String, of account: String, in world: Int, token: String?,
        _ double: RevenueCatDouble
    ) {
        let place: Int
        let name = world == 0 ? account : "\(world)-\(account)"
        if let known = places[name] {
            place = known
        } else {
            let ids = ids(of: name, token: token)
            place = customers.count
            places[name] = place
            customers.append(Customer(world: world, account: account, ids: ids, token: token))
            for id in ids { double.alias(ids[0], id) }
        }
        guard !customers[place].purchases.contains(purchase) else { return }
        customers[place].purchases.append(purchase)
        double.logIn(customers[place].ids[0], purchase: purchase)
    }

    private enum Odds {
        static let anonymousOnly = 0.2
        static let anonymousFirst = 0.4
    }

    /// The ids of an account: the token if there is one, otherwise a name; in some cases an
    /// anonymous id before it, or instead of the name.
    private func ids(of account: String, token: String?) -> [String] {
        let anonymous =
            "$RCAnonymousID:" + StableHash.hex("\(seed) \(account) one", digits: 16)
            + StableHash.hex("\(seed) \(account) two", digits: 16)
        let chance = StableHash.fraction(seed, account)
        if token == nil, chance < Odds.anonymousOnly { return [anonymous] }
        let name = token ?? "user-\(account)"
        return chance < Odds.anonymousOnly + Odds.anonymousFirst ? [anonymous, name] : [name]
    }
}

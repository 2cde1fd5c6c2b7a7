import AppStoreFormats

// What callers in the same process ask for: news that no purchase brings about, and many looks at
// once.

extension AppStoreSimulator {
    /// Sends the notification that a developer asks for to try the URL.
    package func sendTest(in environment: SimulatedEnvironment = .production) async throws {
        _ = try await announce { world, now in world.testNotice(in: environment, at: now) }
    }

    /// Reminds of a purchase outside the App Store.
    package func remindOfExternalPurchase(
        in environment: SimulatedEnvironment = .production
    ) async throws {
        _ = try await announce { world, now in
            world.externalPurchaseToken(ExternalTokenOrder(), in: environment, at: now)
        }
    }

    /// Parents take back their consent to a child's having the app.
    package func rescindConsent(
        of account: String, in environment: SimulatedEnvironment = .production
    ) async throws {
        _ = try await announce { world, now throws(StoreProblem) in
            try world.rescindConsent(of: account, in: environment, at: now)
        }
    }

    /// Puts off the renewal date of every active subscriber of a product.
    package func extendAll(_ productID: String, days: Int, requestID: String) async throws {
        let order = ExtensionOrder(days: days, reason: 3, requestID: requestID)
        try await massExtend(MassExtension(order, productID: productID))
    }

    /// The verdict on each of several accounts; nothing of one that has not come yet.
    package func truths(of accounts: [String]) -> [[BookedPurchase]] {
        let now = clock.now
        return accounts.map { (try? world.books(of: $0, at: now).purchases) ?? [] }
    }

    /// The verdict on one purchase, by its original transaction id.
    package func booked(_ purchase: String) -> BookedPurchase? {
        try? world.book(purchase, at: clock.now)
    }

    /// What a device's purchases name, where they name nothing themselves. Nil also where there is
    /// no such device yet.
    package func accountToken(on deviceID: String) -> String? {
        try? world.device(deviceID).appAccountToken
    }

    /// What a device says of introductory offers, by subscription group: as StoreKit's products do.
    @discardableResult
    package func introductoryOffers(on deviceID: String) throws -> [String: Bool] {
        introductoryEligibility(on: try world.device(deviceID))
    }

    /// Whether all has happened that is due by now, and was told: else the books are ahead of what
    /// anybody can have heard.
    package var isAtRest: Bool {
        let now = clock.now
        return ![deliveries.nextDue, world.nextDue].compactMap(\.self).contains { $0 <= now }
    }
}

import AppStoreFormats

// Requests by callers in the same process: notifications that do not come from a purchase, and
// batched reads.

extension AppStoreSimulator {
    /// Sends a test notification.
    package func sendTest(in environment: SimulatedEnvironment = .production) async throws {
        _ = try await emit { world, now in world.testNotification(in: environment, at: now) }
    }

    /// Sends a reminder of a purchase outside the App Store.
    package func remindOfExternalPurchase(
        in environment: SimulatedEnvironment = .production
    ) async throws {
        _ = try await emit { world, now in
            world.externalPurchaseToken(ExternalTokenOrder(), in: environment, at: now)
        }
    }

    /// Sends the notification that parents withdrew their consent to a child's use of the app.
    package func rescindConsent(
        of account: String, in environment: SimulatedEnvironment = .production
    ) async throws {
        _ = try await emit { world, now throws(SimulatorProblem) in
            try world.rescindConsent(of: account, in: environment, at: now)
        }
    }

    /// Extends the renewal date of every active subscriber of a product.
    package func extendAll(_ productID: String, days: Int, requestID: String) async throws {
        let order = ExtensionOrder(days: days, reason: 3, requestID: requestID)
        try await massExtend(MassExtension(order, productID: productID))
    }

    /// The true purchases of each of several accounts; an empty list for an account that does not
    /// exist yet.
    package func groundTruths(of accounts: [String]) -> [[TruePurchase]] {
        let now = clock.now
        return accounts.map { (try? TrueBooks(world).groundTruth(of: $0, at: now).purchases) ?? [] }
    }

    /// The true state of one purchase, by its original transaction id.
    package func truePurchase(_ purchase: String) -> TruePurchase? {
        try? TrueBooks(world).truePurchase(purchase, at: clock.now)
    }

    /// The app account token that purchases on a device carry if the order names no token. Returns
    /// nil if the device has no token or does not exist yet.
    package func accountToken(on deviceID: String) -> String? {
        try? world.device(deviceID).appAccountToken
    }

    /// Eligibility for introductory offers as seen by a device, by subscription group. StoreKit's
    /// products report the same.
    @discardableResult
    package func introductoryOffers(on deviceID: String) throws -> [String: Bool] {
        introductoryEligibility(on: try world.device(deviceID))
    }

    /// How many notifications were made so far.
    package var sentNotificationsCount: Int { deliveries.count }

    /// The daily sales reports, decompressed, of the days that have a report.
    ///
    /// - Parameter days: counted from 1970, in the time zone of reports.
    package func salesFiles(_ days: ClosedRange<Int64>) -> [(day: Int64, bytes: [UInt8])] {
        let first = CivilDate(daysSince1970: days.lowerBound)
        let last = CivilDate(daysSince1970: days.upperBound)
        return ReportBooks(world).salesRowsByDay(from: first, to: last)
            .sorted { $0.key.daysSince1970 < $1.key.daysSince1970 }
            .compactMap { day, rows in
                (try? SalesReport<SalesRow>(rows: rows).bytes()).map { (day.daysSince1970, $0) }
            }
    }

    /// Whether everything due by now has happened and its notifications were sent. If false, the
    /// ground truth is ahead of what any server can know.
    package var isIdle: Bool {
        let now = clock.now
        return ![deliveries.nextDue, world.nextDue].compactMap(\.self).contains { $0 <= now }
    }
}

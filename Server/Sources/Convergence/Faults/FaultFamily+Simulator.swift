import AppStoreFormats
import Simulator

// What each fault family switches on in the simulator.

extension FaultFamily {
    var notificationFaults: [NotificationFault] {
        switch self {
        case .lostNotifications: [.drop]
        case .repeatedNotifications: [.duplicate, .burst]
        case .lateNotifications: [.delay]
        case .reorderedNotifications: [.reorder]
        case .otherTransactionIDs: [.otherTransactionID]
        case .unknownValues:
            [.unknownType, .unknownSubtype, .unknownStatus, .unknownOfferType, .unknownValue]
        case .truncatedBodies: [.truncate]
        case .forgeries: [.forged, .tampered, .truncated, .expired, .wrongApp, .wrongEnvironment]
        case .notificationOutage, .habits, .rejectedTokens, .notFoundResponses, .rateLimits,
            .serverErrors,
            .slowResponses, .staleResponses, .expiredPageTokens, .apiOutage, .incompleteHistory,
            .lostPosts,
            .repeatedPosts, .latePosts, .deviceQuirks, .crashes, .downtime, .skew, .secondServer,
            .races, .bothEnvironments, .erasures, .swallowedNotifications, .intents,
            .anonymousDevices, .thieves, .unlistedProducts, .groups:
            []
        }
    }

    var apiFaults: [APIFault] {
        switch self {
        case .rejectedTokens: [.unauthorized]
        case .notFoundResponses: [.notFound]
        case .rateLimits: [.rateLimit]
        case .slowResponses: [.slow]
        case .serverErrors: [.error, .retryableError]
        case .staleResponses: [.stale]
        case .expiredPageTokens: [.expiredToken]
        case .lostNotifications, .repeatedNotifications, .lateNotifications,
            .reorderedNotifications, .otherTransactionIDs, .unknownValues, .truncatedBodies,
            .forgeries,
            .notificationOutage, .habits, .apiOutage, .incompleteHistory, .lostPosts,
            .repeatedPosts,
            .latePosts, .deviceQuirks, .crashes, .downtime, .skew, .secondServer, .races,
            .bothEnvironments, .erasures, .swallowedNotifications, .intents, .anonymousDevices,
            .thieves, .unlistedProducts, .groups:
            []
        }
    }
}

extension FaultFamily {
    /// The maximum odds of a failing response. The App Store must respond now and then, because
    /// otherwise a trial would only retry. In an outage it never responds.
    fileprivate var maximumOdds: Double { self == .expiredPageTokens ? 0.6 : 0.3 }
}

extension DeviceFault {
    /// Whether a device seldom gets into the state in which the fault can occur.
    fileprivate var isRare: Bool {
        switch self {
        case .expiredAtRenewal, .lapsedAtRenewal, .listedInRetry, .heldTransaction, .finishedAgain,
            .stickyEligibility:
            true
        case .unlistedAfterPurchase, .emptyRead, .newestFirst, .latestTwice, .forged, .truncated,
            .wrongApp, .wrongEnvironment:
            false
        }
    }
}

extension Plan {
    private static let hour: Int64 = 3_600_000
    /// The number of hours after which Apple makes its last delivery attempt.
    private static let lastAttemptHours: Int64 = 157

    /// When faults begin.
    static let start = SimulatorSettings.defaultNow
    /// When faults end.
    var stormEnd: AppStoreDate { Self.start.later(Int64(days) * 24 * Self.hour) }

    /// The settings of the simulated world.
    func settings(_ shop: StoreKitFile) -> SimulatorSettings {
        var lots = random("world")
        var settings = SimulatorSettings(
            seed: seed, now: Self.start, shop: shop, notificationURL: Self.address)
        settings.isDeterministic = true
        settings.graceDays = lots.choice(0, 3, 16, 16, 28)
        settings.renewsEarlySeconds = Int64(lots.choice(0, 0, 43_200, 86_400))
        settings.stopsRetryingAt400 = lots.happens(0.5)
        settings.upgradeSetsRevocationDate = lots.happens(0.5)
        settings.sandboxPace = .monthly(.fiveMinutes)
        if has(.habits) {
            for habit in Quirk.allCases where !habit.isAboutSeats && lots.happens(0.2) {
                settings.quirks.insert(habit)
            }
        }
        configureEra(in: &settings)
        if sellsSeats { sellSeats(in: &settings) }
        return settings
    }

    /// Sells the shop's products in seats. Uses separate random numbers, so that the rest of the
    /// world is the same as without seats.
    private func sellSeats(in settings: inout SimulatorSettings) {
        var lots = random("seats")
        settings.rules.seats = FullShop.seats
        settings.rules.seatInvitations = lots.happens(0.3) ? .developer : .apple
        settings.quirks.formUnion(seatHabits)
    }

    /// The unusual behaviours of the App Store about seats. Some behaviours concern claims, or
    /// members whom no document reports. Such behaviours are tested only in Stories, because a
    /// trial with such a behaviour could not expect true answers.
    var seatHabits: Set<Quirk> {
        guard sellsSeats, has(.habits) else { return [] }
        var lots = random("seat habits")
        let habits: [Quirk] = [
            .seatAdditionSharesLineItem, .seatAdditionProrated, .seatRefundToldOnce,
            .seatRefundNamesPercentage,
        ]
        return Set(habits.filter { _ in lots.happens(0.3) })
    }

    /// Sets the odds of the simulator's faults.
    func arm(_ faults: inout Faults) {
        var lots = random("odds")
        for family in FaultFamily.allCases where !FaultFamily.withoutOdds.contains(family) {
            // Draws the same number of random values whether or not the family is included.
            let odds = lots.choice(0.1, 0.3, 0.6, 1)
            let mild = lots.choice(0.05, 0.2, 0.4)
            guard has(family) else { continue }
            let kinds = family.notificationFaults
            let share = kinds.count > 1 ? mild : family == .truncatedBodies ? mild : odds
            for kind in kinds { faults.notifications.odds[kind] = share }
            for kind in family.apiFaults {
                faults.api.odds[kind] = min(odds, family.maximumOdds)
            }
        }
        faults.slowSeconds = 0
        if scriptedRow.flatMap(ScriptedCase.of)?.losesAllNotifications == true {
            faults.notifications.odds[.drop] = 1
        }
        let longest = lots.choice(1, 24, Self.lastAttemptHours)
        faults.delay = Faults.Delay(seconds: longest * 3600, isMaximum: true)
        faults.staleSeconds = lots.choice(3600, 86_400, 259_200)
        faults.retryAfterSeconds = lots.choice(5, 60, 3600)
        let notificationOutage = outage(&lots)
        let apiOutage = outage(&lots)
        if has(.notificationOutage) { faults.notificationOutage = notificationOutage }
        if has(.apiOutage) { faults.apiOutage = apiOutage }
        guard has(.deviceQuirks) else { return }
        for fault in DeviceFault.allCases { faults.devices.odds[fault] = fault.isRare ? 0.5 : 0.1 }
    }

    /// An outage of up to eight days, at a random time.
    private func outage(_ lots: inout TrialRandom) -> Outage {
        let hours = Int64(lots.choice(1, 12, 48, 100, 192, 192))
        let latest = max(0, Double(days * 24) - Double(hours))
        let from = Self.start.later(Int64(lots.fraction() * latest * Double(Self.hour)))
        return Outage(from: from, until: from.later(hours * Self.hour))
    }
}

extension AppStoreDate {
    func later(_ milliseconds: Int64) -> Self {
        Self(milliseconds: self.milliseconds + milliseconds)
    }
}

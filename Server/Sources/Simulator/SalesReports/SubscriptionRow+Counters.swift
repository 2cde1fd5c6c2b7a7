import AppStoreFormats

// The counters of a subscription report, which are added up for rows that are otherwise equal.

extension SubscriptionRow {
    private typealias Counter = WritableKeyPath<Self, Int64>
    private typealias LaterCounter = WritableKeyPath<Self, Int64?>

    private static var counters: [Counter] {
        [
            \.standardPrice, \.introductoryFreeTrial, \.introductoryPayUpFront,
            \.introductoryPayAsYouGo, \.promotionalFreeTrial, \.promotionalPayUpFront,
            \.promotionalPayAsYouGo, \.billingRetry, \.gracePeriod,
        ]
    }

    /// The counters that older versions of the report do not have.
    private static var laterCounters: [LaterCounter] {
        [
            \.offerCodeFreeTrial, \.offerCodePayUpFront, \.offerCodePayAsYouGo, \.subscribers,
            \.winBackFreeTrial, \.winBackPayUpFront, \.winBackPayAsYouGo,
        ]
    }

    var withoutCounters: Self {
        var row = self
        for counter in Self.counters { row[keyPath: counter] = 0 }
        row.zeroLaterCounters()
        return row
    }

    mutating func zeroLaterCounters() {
        for counter in Self.laterCounters { self[keyPath: counter] = 0 }
    }

    mutating func addCounters(of other: Self) {
        for counter in Self.counters { self[keyPath: counter] += other[keyPath: counter] }
        for counter in Self.laterCounters {
            self[keyPath: counter] =
                (self[keyPath: counter] ?? 0) + (other[keyPath: counter] ?? 0)
        }
    }

    /// Counts one open subscription, with or without an offer. An offer without a counter in the
    /// report counts as the standard price.
    mutating func count(_ offer: StoreKitOffer?) {
        if let counter = offer.flatMap(Self.laterCounter) {
            self[keyPath: counter] = 1
        } else {
            self[keyPath: offer.flatMap(Self.counter) ?? \.standardPrice] = 1
        }
    }

    private static func counter(of offer: StoreKitOffer) -> Counter? {
        switch (offer.type, offer.discount) {
        case (.introductory, .freeTrial): \.introductoryFreeTrial
        case (.introductory, .payUpFront): \.introductoryPayUpFront
        case (.introductory, .payAsYouGo): \.introductoryPayAsYouGo
        case (.promotional, .freeTrial): \.promotionalFreeTrial
        case (.promotional, .payUpFront): \.promotionalPayUpFront
        case (.promotional, .payAsYouGo): \.promotionalPayAsYouGo
        default: nil
        }
    }

    private static func laterCounter(of offer: StoreKitOffer) -> LaterCounter? {
        switch (offer.type, offer.discount) {
        case (.code, .freeTrial): \.offerCodeFreeTrial
        case (.code, .payUpFront): \.offerCodePayUpFront
        case (.code, .payAsYouGo): \.offerCodePayAsYouGo
        case (.winBack, .freeTrial): \.winBackFreeTrial
        case (.winBack, .payUpFront): \.winBackPayUpFront
        case (.winBack, .payAsYouGo): \.winBackPayAsYouGo
        default: nil
        }
    }
}

import AppStoreFormats

/// The data from which Apple's reports are made: what was bought, and the developer's agreement.
struct ReportBooks: Sendable {
    let rules: ReportRules
    let calendar: ReportCalendar
    let purchases: [ReportedPurchase]
    private let settings: SimulatorSettings
    /// The shop's products with their Apple ids, by product id.
    private let products: [String: (product: StoreKitProduct, appleID: Int64)]

    init(_ world: World) {
        settings = world.settings
        rules = world.settings.reports
        calendar = rules.calendar
        purchases = TrueBooks(world).purchaseHistories.map { ReportedPurchase($0, world.calendar) }
        let first = world.settings.appAppleID + 1
        products = Dictionary(
            world.settings.shop.products.enumerated().map { place, product in
                (product.id, (product, first + Int64(place)))
            }, uniquingKeysWith: { one, _ in one })
    }

    /// The purchases that are subscriptions: only these have steps.
    var subscriptions: some Sequence<ReportedPurchase> {
        purchases.lazy.filter { !$0.history.steps.isEmpty }
    }

    // MARK: - Columns that reports share

    /// The bundle id, which stands for the app's name because the simulator does not know the name.
    var appName: String { settings.bundleID }
    var appAppleID: Int64 { settings.appAppleID }

    func appleID(of product: StoreKitProduct) -> Int64 { products[product.id]?.appleID ?? 0 }

    func title(of product: StoreKitProduct) -> String {
        [product.displayName, product.referenceName].first { !$0.isEmpty } ?? product.id
    }

    /// The number of a subscription group in reports, which is its id if the id is a number. A shop
    /// may name its groups freely.
    func groupNumber(_ transaction: StoreTransaction) -> Int64 {
        guard let id = transaction.product.subscription?.groupID else { return 0 }
        if let number = Int64(id), number >= 0 { return number }
        let place = settings.shop.groups.firstIndex { $0.id == id } ?? 0
        return settings.appAppleID + Int64(products.count + 1 + place)
    }

    /// Whether a subscriber pays less than a new subscriber would.
    func isPricePreserved(_ charge: PurchaseHistory.Charge) -> Bool {
        let transaction = charge.transaction
        guard transaction.offer == nil, transaction.commitment == nil,
            transaction.reason == .renewal, let product = products[transaction.product.id]?.product
        else { return false }
        let price = settings.rules.prices.price(
            of: product, in: transaction.storefront, at: charge.at)
        return (transaction.seats?.tiers.first?.price ?? transaction.price) < price
    }

    /// The reason for the reduced rate of a charge. Nil if the rate is not reduced, or if the whole
    /// app has the reduced rate.
    func proceedsReason(isReduced: Bool, at moment: AppStoreDate) -> SalesReportProceedsReason? {
        isReduced && !rules.isMember(at: moment) ? .rateAfterOneYear : nil
    }

    /// A number that looks random, but depends only on the seed and a text.
    func number(of text: String, digits: Int) -> Int64 {
        // FNV-1a, 64 bits.
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325 ^ settings.seed
        for byte in text.utf8 { hash = (hash ^ UInt64(byte)) &* 0x0100_0000_01B3 }
        var random = SplitMix64(seed: hash)
        let least = (1..<digits).reduce(Int64(1)) { number, _ in number * 10 }
        return least + Int64(random.next() % UInt64(9 * least))
    }
}

extension StoreTransaction {
    /// When the period ended: by time or by a refund.
    var reportedEnd: AppStoreDate {
        [revocation?.at, expires].compactMap(\.self).min() ?? purchased
    }

    /// The length of a period without an offer.
    var reportedDuration: SalesReportDuration? {
        product.subscription.map { SalesReportDuration($0.period) }
    }
}

extension StoreKitOffer {
    /// How the subscription reports name the payment mode of the offer.
    var reportedType: SalesReportOffer? {
        switch discount {
        case .freeTrial: .freeTrial
        case .payAsYouGo: .payAsYouGo
        case .payUpFront: .payUpFront
        default: nil
        }
    }

    /// How long the offer applies.
    var reportedDuration: SalesReportDuration {
        SalesReportDuration(BillingPeriod(period.count * periodCount, period.unit))
    }

    /// How the sales report names the offer: its payment mode and its kind.
    var orderType: SalesReportOffer? {
        let payment: String
        switch discount {
        case .freeTrial: payment = "Free Trial"
        case .payAsYouGo: payment = "Pay As You Go"
        case .payUpFront: payment = "Pay Up Front"
        default: return nil
        }
        let kind =
            switch type {
            case .introductory: "Intro Offer"
            case .promotional: "Promo Offer"
            case .code: "Offer Code"
            default: "Win-back Offer"
            }
        return SalesReportOffer(rawValue: "\(payment) \(kind)")
    }

    /// How events name the offer.
    var reportedName: String {
        switch type {
        case .introductory: "Introductory Offer"
        case .promotional: "Promotional Offer"
        case .code: "Offer Code"
        default: "Win-Back Offer"
        }
    }
}

extension Sequence where Element: Hashable {
    /// Each different row once, in order of first appearance, with the number of its occurrences.
    func counted() -> [(row: Element, count: Int64)] {
        var places: [Element: Int] = [:]
        var rows: [(row: Element, count: Int64)] = []
        for row in self {
            if let place = places[row] {
                rows[place].count += 1
            } else {
                places[row] = rows.count
                rows.append((row, 1))
            }
        }
        return rows
    }
}

import AppStoreFormats

/// Finds problems in a `.storekit` file: those that make the file unusable here, and those that
/// Xcode or App Store Connect would refuse although the simulator accepts them.
package struct ShopLint: Sendable {
    /// Maximum number of findings. A file may have thousands of the same kind.
    private static let findingsMax = 100

    package struct Finding: Hashable, Sendable, CustomStringConvertible {
        /// Whether the finding makes the file unusable.
        package let isFatal: Bool
        package let place: String
        package let what: String

        package var description: String { "\(place): \(what)" }
    }

    package private(set) var findings: [Finding] = []

    package init(_ json: JSON) {
        let (file, failures) = StoreKitFile.read(json)
        for failure in failures { add(failure.message, at: failure.location, isFatal: true) }
        checkWhole(json, file)
        for group in file.groups { checkLevels(of: group) }
        checkGroupNames(json)
        for product in file.products {
            check(product)
            if let terms = product.subscription {
                check(terms, at: "product \(product.id)")
                for offer in terms.introductoryOffers + terms.namedOffers {
                    check(offer, of: terms, at: Self.place(of: offer, product))
                }
            }
        }
    }

    private mutating func add(_ what: String, at place: String, isFatal: Bool = false) {
        guard findings.count < Self.findingsMax else { return }
        findings.append(Finding(isFatal: isFatal, place: place, what: what))
    }

    private static func place(of offer: StoreKitOffer, _ product: StoreKitProduct) -> String {
        let name = offer.id.map { "the offer \($0)" } ?? "the introductory offer"
        return "\(name) of product \(product.id)"
    }
}

// MARK: - The file as a whole

extension ShopLint {
    /// The newest known version of the file format.
    private static let majorVersionMax: Int64 = 6

    private mutating func checkWhole(_ json: JSON, _ file: StoreKitFile) {
        if file.majorVersion > Self.majorVersionMax {
            add("version \(file.majorVersion) is newer than this reader", at: "the file")
        }
        for key in ["subscriptionBundleGroups", "subscriptionSuiteGroups"]
        where json[key]?.array?.isEmpty == false {
            add("is ignored: bundles and suites are not simulated", at: key)
        }
        if let country = file.settings.storefront, Storefront.named(country) == nil {
            add("there is no storefront \(country); devices use USA by default", at: "settings")
        }
        if let rate = file.settings.timeRate, rate != 0, Pace(timeRate: rate) == nil {
            add("the time rate \(rate) is not known; the sandbox keeps its own", at: "settings")
        }
        if let key = file.offersKey, OfferSignature.Key(key) == nil {
            add(
                "the private key cannot be read, so signatures of offers are not checked",
                at: "subscriptionOffersKeyPair")
        }
    }

    private mutating func checkGroupNames(_ json: JSON) {
        for group in json["subscriptionGroups"]?.array ?? [] {
            for product in group["subscriptions"]?.array ?? [] {
                guard let id = product["productID"]?.string,
                    let named = product["subscriptionGroupID"]?.string,
                    let own = group["id"]?.string, named != own
                else { continue }
                add(
                    "names the group \(named) but is in \(own): the latter applies",
                    at: "product \(id)")
            }
        }
    }

    /// Checks that the levels begin at 1 without a gap. Several products may have the same level.
    private mutating func checkLevels(of group: StoreKitGroup) {
        let levels = Set(group.subscriptions.compactMap(\.subscription?.level)).sorted()
        guard !levels.isEmpty, levels != Array(1...Int64(levels.count)) else { return }
        let list = levels.map(String.init).joined(separator: ", ")
        add("groupNumber is \(list): count from 1 without a gap", at: "group \(group.id)")
    }
}

// MARK: - Products

extension ShopLint {
    /// Maximum number of characters of a product id in App Store Connect.
    private static let idLengthMax = 100

    private mutating func check(_ product: StoreKitProduct) {
        let place = "product \(product.id)"
        let isPlain = product.id.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "-"):
                true
            default: false
            }
        }
        if !isPlain || product.id.utf8.count > Self.idLengthMax {
            add("the id may have \(Self.idLengthMax) letters, digits, dots and _", at: place)
        }
        let canBeShared = product.type == .nonConsumable || product.type == .autoRenewable
        if product.isFamilyShareable, !canBeShared {
            add("Family Sharing is for non-consumables and subscriptions only", at: place)
        }
    }

    private static let periods = ["P1W", "P1M", "P2M", "P3M", "P6M", "P1Y"]
    /// Maximum number of offers of one kind that a subscription may have at one time.
    private static let offersMax = 10

    private mutating func check(_ terms: StoreKitSubscription, at place: String) {
        if !Self.periods.contains(terms.period.description) {
            add("no subscription renews every \(terms.period)", at: place)
        }
        if terms.promotionalOffers.count > Self.offersMax || terms.codeOffers.count > Self.offersMax
        {
            add("has more than \(Self.offersMax) offers of one kind", at: place)
        }
        for offers in [terms.promotionalOffers, terms.codeOffers, terms.winBackOffers] {
            let ids = offers.compactMap(\.id)
            if Set(ids).count < ids.count { add("two of its offers have the same id", at: place) }
        }
        guard let plan = terms.billingPlans.first(where: { $0.type == .monthly }) else { return }
        if terms.period != BillingPeriod(1, .year) {
            add("only a yearly subscription has a monthly plan", at: place)
        }
        if plan.commitmentPrice != 12 * plan.price {
            add("the commitment's price is not twelve times the month's", at: place)
        }
    }
}

// MARK: - Offers

extension ShopLint {
    private static let freePeriods: Set = [
        "P3D", "P1W", "P2W", "P1M", "P2M", "P3M", "P6M", "P1Y",
    ]
    private static let upFrontPeriods: Set = ["P1M", "P2M", "P3M", "P6M", "P1Y"]

    private mutating func check(
        _ offer: StoreKitOffer, of terms: StoreKitSubscription, at place: String
    ) {
        if offer.id == nil, offer.type != .introductory { add("has no id", at: place) }
        if offer.type == .code, offer.customers.isEmpty {
            add("eligibility is empty, so no customer can redeem it", at: place)
        }
        switch offer.discount {
        case .freeTrial:
            if !Self.freePeriods.contains(offer.period.description) || offer.periodCount > 1 {
                add("no free trial lasts \(offer.periodCount) × \(offer.period)", at: place)
            }
        case .payUpFront:
            if !Self.upFrontPeriods.contains(offer.period.description) || offer.periodCount > 1 {
                add("no payment up front is for \(offer.periodCount) × \(offer.period)", at: place)
            }
        default:
            let months = max(terms.period.months, 1)
            if offer.period != terms.period || offer.periodCount > 12 / months {
                add("pay as you go is for periods of \(terms.period), a year at most", at: place)
            }
        }
    }
}

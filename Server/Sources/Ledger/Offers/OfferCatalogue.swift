/// The offers of an app, by product.
package struct OfferCatalogue: Hashable, Sendable {
    package var products: [ProductID: Product]

    package struct Product: Hashable, Sendable {
        /// The App Store's name of the subscription group.
        package var group: String
        package var hasIntroductory: Bool
        package var promotional: [String]
        package var winBack: [String]
        package var codes: [Code]

        package init(
            group: String, hasIntroductory: Bool = false, promotional: [String] = [],
            winBack: [String] = [], codes: [Code] = []
        ) {
            self.group = group
            self.hasIntroductory = hasIntroductory
            self.promotional = promotional
            self.winBack = winBack
            self.codes = codes
        }
    }

    /// An offer code, and who may redeem it.
    package struct Code: Hashable, Sendable {
        package var id: String
        package var customers: Set<SubscriberState>

        package init(id: String, customers: Set<SubscriberState>) {
            self.id = id
            self.customers = customers
        }
    }

    /// A customer's relation to a subscription group.
    package enum SubscriberState: String, Hashable, Sendable, CaseIterable {
        /// The customer never subscribed.
        case new
        case subscribed
        /// The customer's subscription ended.
        case lapsed
    }

    package static let none = OfferCatalogue(products: [:])

    package init(products: [ProductID: Product]) { self.products = products }
}

/// Whether a customer is eligible for an offer, and why.
package struct OfferEligibility: Hashable, Sendable {
    package var product: ProductID
    package var kind: Offer.Kind
    /// The app's name of the offer; nil for an introductory offer.
    package var id: String?
    package var why: Reason

    package enum Reason: String, Hashable, Sendable, CaseIterable {
        // Eligible.
        case neverSubscribed = "never_subscribed"
        case neverIntroduced = "never_introduced"
        case isOrWasSubscribed = "is_or_was_subscribed"
        case subscriptionEnded = "subscription_ended"
        case codeIsForThem = "code_is_for_them"

        // Not eligible.
        case isSubscribed = "is_subscribed"
        case hadIntroductory = "had_introductory"
        case wasNeverSubscribed = "was_never_subscribed"
        case hasNotEnded = "has_not_ended"
        case codeIsForOthers = "code_is_for_others"
        case codeIsRedeemed = "code_is_redeemed"

        package var isEligible: Bool {
            switch self {
            case .neverSubscribed, .neverIntroduced, .isOrWasSubscribed, .subscriptionEnded,
                .codeIsForThem:
                true
            case .isSubscribed, .hadIntroductory, .wasNeverSubscribed, .hasNotEnded,
                .codeIsForOthers, .codeIsRedeemed:
                false
            }
        }

        package var sentence: String {
            switch self {
            case .neverSubscribed: "Never subscribed in the group."
            case .neverIntroduced:
                "Was subscribed in the group, and never at an introductory price."
            case .isOrWasSubscribed: "Is or was subscribed in the group."
            case .subscriptionEnded: "The subscription in the group has ended."
            case .codeIsForThem: "The code is for customers like them."
            case .isSubscribed: "Is subscribed in the group."
            case .hadIntroductory: "Had an introductory offer in the group, also if refunded."
            case .wasNeverSubscribed: "Was never subscribed in the group."
            case .hasNotEnded: "No subscription of the group has ended."
            case .codeIsForOthers: "The code is for other customers."
            case .codeIsRedeemed: "Has redeemed this code."
            }
        }
    }
}

extension OfferCatalogue {
    /// Whether a customer is eligible for each offer, judged by the customer's purchases. The
    /// results are sorted by the product's name. The App Store decides again at the purchase. It
    /// considers all purchases of the store account, some of which may be unknown to us.
    package func eligibility(
        for timelines: [Timeline], at now: Instant, rules: AccessRules
    ) -> [OfferEligibility] {
        let names = groupNames(in: timelines.flatMap { $0.periods.map(\.payment) })
        return products.sorted { $0.key < $1.key }.flatMap { id, product in
            let past = GroupHistory(timelines, at: now, rules: rules) { payment in
                group(of: payment, names) == product.group
            }
            return past.eligibility(for: id, product)
        }
    }

    /// The catalogue's group names by the App Store's group ids. The two differ if the StoreKit
    /// file was never synced, because Xcode then makes up group ids.
    private func groupNames(in payments: [Payment]) -> [String: String] {
        var names: [String: String] = [:]
        for payment in payments {
            guard let theirs = payment.group, let ours = products[payment.product]?.group else {
                continue
            }
            names[theirs] = ours
        }
        return names
    }

    /// The group of the payment's product: the catalogue's name if the catalogue lists the product,
    /// otherwise the App Store's name.
    private func group(of payment: Payment, _ names: [String: String]) -> String? {
        products[payment.product]?.group ?? payment.group.map { names[$0] ?? $0 }
    }

    /// The purchases that a customer had in one group.
    private struct GroupHistory {
        var subscriberState: SubscriberState
        var hadIntroductory: Bool
        var codes: Set<String>

        init(
            _ timelines: [Timeline], at now: Instant, rules: AccessRules,
            counts: (Payment) -> Bool
        ) {
            var payments: [Payment] = []
            var isOver = true
            for timeline in timelines {
                // A purchase shared by the family does not count, because it was sold to somebody
                // else.
                let theirs = timeline.periods.map(\.payment).filter {
                    $0.kind == .autoRenewable && $0.ownership == .purchased
                        && counts($0)
                }
                guard !theirs.isEmpty else { continue }
                payments += theirs
                let state = timeline.access(at: now, rules: rules)?.state
                isOver = isOver && [.expired, .refunded, .revoked, nil].contains(state)
            }
            subscriberState = payments.isEmpty ? .new : isOver ? .lapsed : .subscribed
            hadIntroductory = payments.contains(where: \.isIntroductory)
            codes = Set(payments.filter { $0.offer?.kind == .code }.compactMap { $0.offer?.id })
        }

        func eligibility(for id: ProductID, _ product: Product) -> [OfferEligibility] {
            var answers: [OfferEligibility] = []
            if product.hasIntroductory {
                answers.append(
                    OfferEligibility(product: id, kind: .introductory, id: nil, why: introductory))
            }
            answers += product.promotional.sorted().map {
                OfferEligibility(product: id, kind: .promotional, id: $0, why: promotional)
            }
            answers += product.winBack.sorted().map {
                OfferEligibility(product: id, kind: .winBack, id: $0, why: winBack)
            }
            answers += product.codes.sorted { $0.id < $1.id }.map {
                OfferEligibility(product: id, kind: .code, id: $0.id, why: why($0))
            }
            return answers
        }

        private var introductory: OfferEligibility.Reason {
            if subscriberState == .subscribed { return .isSubscribed }
            if hadIntroductory { return .hadIntroductory }
            return subscriberState == .new ? .neverSubscribed : .neverIntroduced
        }

        private var promotional: OfferEligibility.Reason {
            subscriberState == .new ? .wasNeverSubscribed : .isOrWasSubscribed
        }

        private var winBack: OfferEligibility.Reason {
            subscriberState == .lapsed ? .subscriptionEnded : .hasNotEnded
        }

        private func why(_ code: Code) -> OfferEligibility.Reason {
            guard code.customers.contains(subscriberState) else { return .codeIsForOthers }
            return codes.contains(code.id) ? .codeIsRedeemed : .codeIsForThem
        }
    }
}

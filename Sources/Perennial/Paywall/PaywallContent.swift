public import Foundation

extension Perennial {
    /// A paywall screen as values: a headline and a row for each product. The type is pure: the
    /// same arguments give the same texts.
    ///
    /// The texts are in the language of `locale`: English, German, French, Spanish or Japanese. For
    /// any other language they are in English. Prices are as the store writes them.
    ///
    /// If one entitlement includes everything that a placement offers, name it in the placement's
    /// metadata. While that entitlement is open, the products that it includes, even consumables,
    /// have a checkmark:
    ///
    /// metadata: {everything: pro}
    ///
    /// Without such an entitlement, a non-consumable has a checkmark if every entitlement that it
    /// gives is open.
    public struct PaywallContent: Hashable, Sendable {
        public var headline: Headline
        /// The rows in the order of the offering. Products that the store does not know are left
        /// out.
        public var rows: [Row]

        public init(headline: Headline, rows: [Row]) {
            self.headline = headline
            self.rows = rows
        }

        /// - Parameters:
        ///   - offering: the products that are for sale.
        ///   - snapshot: what is known about the customer.
        ///   - date: the present moment; use ``Perennial/now``.
        ///   - locale: the language of the texts.
        ///   - calendar: the calendar, with its time zone, by which the days that are left are
        ///     counted.
        public init(
            _ offering: Offering, _ snapshot: Snapshot, at date: Date, locale: Locale = .current,
            calendar: Calendar = .current
        ) {
            let situation = PaywallSituation(offering, snapshot, at: date)
            let wording = Wording(locale: locale, calendar: calendar)
            headline = Headline(situation, wording, calendar: calendar)
            rows = offering.products.map {
                Row($0, situation.standing(of: $0), wording, situation)
            }
        }

        /// The text above the rows.
        public struct Headline: Hashable, Sendable {
            public var kind: Kind
            /// One line without a full stop, such as "Subscribed: 12 days left". Nil if nothing is
            /// known yet, or if the offering has no subscription.
            public var text: String?
            /// The number of days left; the last day counts as 1. Nil unless a subscription with an
            /// end is open.
            public var daysRemaining: Int?

            public init(kind: Kind, text: String?, daysRemaining: Int? = nil) {
                self.kind = kind
                self.text = text
                self.daysRemaining = daysRemaining
            }

            public struct Kind: RawRepresentable, Hashable, Sendable {
                public let rawValue: String
                public init(rawValue: String) { self.rawValue = rawValue }

                /// Nothing is known yet.
                public static let unknown = Self(rawValue: "unknown")
                public static let subscribed = Self(rawValue: "subscribed")
                public static let notSubscribed = Self(rawValue: "not_subscribed")
                /// The customer has bought access to keep, and needs no subscription.
                public static let unlocked = Self(rawValue: "unlocked")
                /// A renewal could not be charged. Access is open during a grace period, and shut
                /// after it.
                public static let paymentProblem = Self(rawValue: "payment_problem")
                /// The offering has no subscription.
                public static let nothing = Self(rawValue: "nothing")
            }
        }

        /// The row of one product.
        public struct Row: Hashable, Sendable, Identifiable {
            public var id: ProductID
            public var title: String
            public var action: Action
            /// The button's title. Nil if the row shows a checkmark instead.
            public var actionTitle: String?
            /// The price, as the store writes it.
            public var price: String
            /// The price with its period, such as "9,99 € a month". Nil for a product that is
            /// bought to keep.
            public var terms: String?
            /// What the customer has of this product, such as "Renews on 24 May 2027", or what a
            /// purchase waits for. Nil if neither applies.
            public var status: String?
            public var hasPaymentProblem: Bool
            /// The introductory offer. Nil unless the customer may take the offer.
            public var trial: String?
            /// The text that App Review requires beside the button of a renewing plan.
            public var disclosure: String?
            /// The ways to pay for the product. Each way has a button, and these buttons replace
            /// the row's button. Empty unless the product can be bought now in several ways, or
            /// only with a commitment to several payments. The row's own price and texts are those
            /// of the plan that pays the whole period at once.
            public var plans: [PlanRow]

            public init(
                id: ProductID, title: String, action: Action, actionTitle: String? = nil,
                price: String, terms: String? = nil, status: String? = nil,
                hasPaymentProblem: Bool = false, trial: String? = nil, disclosure: String? = nil,
                plans: [PlanRow] = []
            ) {
                self.id = id
                self.title = title
                self.action = action
                self.actionTitle = actionTitle
                self.price = price
                self.terms = terms
                self.status = status
                self.hasPaymentProblem = hasPaymentProblem
                self.trial = trial
                self.disclosure = disclosure
                self.plans = plans
            }

            /// Whether a tap on the row's button buys the product.
            public var canBuy: Bool {
                [.buy, .subscribe, .renew, .switchPlan].contains(action)
            }
        }

        /// One way to pay for a subscription.
        public struct PlanRow: Hashable, Sendable, Identifiable {
            /// The plan. To buy it: `purchase(row.id, PurchaseOptions(plan: plan))`.
            public var plan: Plan
            /// The number of payments, such as "12 payments".
            public var title: String
            /// The price of one payment with its period, such as "9,99 € a month".
            public var terms: String
            /// The total that the customer commits to, such as "119,88 € in all for 1 year". Nil if
            /// there is only one payment. App Review requires that an app shows the total.
            public var total: String?
            /// The introductory offer of this plan. Nil unless the customer may take the offer.
            public var trial: String?
            /// The text that App Review requires beside the button.
            public var disclosure: String

            public init(
                plan: Plan, title: String, terms: String, total: String? = nil,
                trial: String? = nil, disclosure: String
            ) {
                self.plan = plan
                self.title = title
                self.terms = terms
                self.total = total
                self.trial = trial
                self.disclosure = disclosure
            }

            public var id: Plan.Kind { plan.kind }
        }

        /// What the row's button does.
        public struct Action: RawRepresentable, Hashable, Sendable {
            public let rawValue: String
            public init(rawValue: String) { self.rawValue = rawValue }

            public static let buy = Self(rawValue: "buy")
            public static let subscribe = Self(rawValue: "subscribe")
            /// Buys another term, which begins when the present term ends.
            public static let renew = Self(rawValue: "renew")
            /// Changes to another plan of the same subscription group.
            public static let switchPlan = Self(rawValue: "switch_plan")
            /// Shows a checkmark: the customer has bought the product.
            public static let owned = Self(rawValue: "owned")
            /// Shows a checkmark: another product that the customer has includes this one.
            public static let included = Self(rawValue: "included")
            /// The product was bought, but the purchase is not complete yet.
            public static let pending = Self(rawValue: "pending")
            /// The product cannot be bought now, usually because nothing is known about the
            /// customer.
            public static let unavailable = Self(rawValue: "unavailable")
        }
    }
}

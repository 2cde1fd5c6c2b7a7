public import Foundation

extension Perennial {
    /// A subscription that renews.
    public struct Subscription: Hashable, Sendable, Identifiable {
        /// The subscription's original transaction id. For a member whom the app invited, the id of
        /// the claim.
        public var id: String
        public var product: ProductID
        public var state: AccessState
        /// When the present period began.
        public var from: Date?
        public var until: Date?
        /// Whether the subscription will renew. Nil if the App Store has not said.
        public var willRenew: Bool?
        /// The product of the next period. Nil if no period follows, or if the App Store has not
        /// said.
        public var renewsTo: ProductID?
        public var graceUntil: Date?
        public var commitment: Commitment?
        /// The offer with which the present period was bought. Nil without an offer. Also nil until
        /// the App Store on this device has reported the offer, because the server's answer does
        /// not contain it.
        public var offer: AppliedOffer?
        /// The product of the bundle that contains this subscription. Nil without a bundle, and
        /// until the App Store on this device has reported the bundle.
        public var bundle: ProductID?
        public var ownership: Ownership
        /// The number of people for whom the subscription is paid. Nil unless the customer bought
        /// seats.
        public var seats: Seats?
        /// The customer's place in another person's group. Nil unless the app invited the customer.
        public var seat: Seat?

        public init(
            id: String, product: ProductID, state: AccessState, from: Date? = nil,
            until: Date? = nil, willRenew: Bool? = nil, renewsTo: ProductID? = nil,
            graceUntil: Date? = nil, commitment: Commitment? = nil, offer: AppliedOffer? = nil,
            bundle: ProductID? = nil, ownership: Ownership = .purchased, seats: Seats? = nil,
            seat: Seat? = nil
        ) {
            self.id = id
            self.product = product
            self.state = state
            self.from = from
            self.until = until
            self.willRenew = willRenew
            self.renewsTo = renewsTo
            self.graceUntil = graceUntil
            self.commitment = commitment
            self.offer = offer
            self.bundle = bundle
            self.ownership = ownership
            self.seats = seats
            self.seat = seat
        }

        /// Whether a member of the customer's family pays for the subscription.
        public var isFamilyShared: Bool { ownership == .familyShared }

        /// Who paid for the subscription. Later versions may have other values.
        public struct Ownership: RawRepresentable, Hashable, Sendable {
            public let rawValue: String
            public init(rawValue: String) { self.rawValue = rawValue }

            public static let purchased = Self(rawValue: "purchased")
            public static let familyShared = Self(rawValue: "family_shared")
            /// The purchaser of a group, or an organization, pays for the subscription.
            public static let assigned = Self(rawValue: "assigned")
        }

        /// An offer with which a period was bought.
        public struct AppliedOffer: Hashable, Sendable {
            /// The offer's id. Nil for an introductory offer, which has no id.
            public var id: String?
            public var kind: Offer.Kind
            /// How the offer is paid. Nil if the App Store has not said.
            public var paymentMode: Offer.PaymentMode?
            /// How long the offer lasts. Nil if the App Store has not said.
            public var period: Period?

            public init(
                id: String? = nil, kind: Offer.Kind, paymentMode: Offer.PaymentMode? = nil,
                period: Period? = nil
            ) {
                self.id = id
                self.kind = kind
                self.paymentMode = paymentMode
                self.period = period
            }
        }

        /// A commitment to pay for a number of months.
        public struct Commitment: Hashable, Sendable {
            /// The number of the present month in the commitment, from 1.
            public var month: Int
            public var months: Int
            public var until: Date?
            /// Whether another commitment follows. Nil if the App Store has not said.
            public var renews: Bool?

            public init(month: Int, months: Int, until: Date?, renews: Bool?) {
                self.month = month
                self.months = months
                self.until = until
                self.renews = renews
            }
        }
    }

    /// A term: a subscription that does not renew, with a length from the developer's
    /// configuration.
    public struct Term: Hashable, Sendable {
        public var product: ProductID
        public var from: Date
        /// When the term ends. Nil if no length is configured.
        public var until: Date?

        public init(product: ProductID, from: Date, until: Date?) {
            self.product = product
            self.from = from
            self.until = until
        }
    }

    /// A non-consumable that was bought, or a consumable that was posted.
    public struct OwnedProduct: Hashable, Sendable {
        public var product: ProductID
        public var purchased: Date
        /// When the product was refunded or revoked. Nil if it was neither refunded nor revoked.
        public var revoked: Date?

        public init(product: ProductID, purchased: Date, revoked: Date? = nil) {
            self.product = product
            self.purchased = purchased
            self.revoked = revoked
        }
    }

    /// A purchase that is not complete yet.
    public struct WaitingPurchase: Hashable, Sendable {
        public var product: ProductID
        public var reason: Reason
        public var since: Date

        public init(product: ProductID, reason: Reason, since: Date) {
            self.product = product
            self.reason = reason
            self.since = since
        }

        public struct Reason: RawRepresentable, Hashable, Sendable {
            public let rawValue: String
            public init(rawValue: String) { self.rawValue = rawValue }

            /// A parent or a bank must approve the purchase.
            public static let approval = Self(rawValue: "approval")
            /// The purchase is paid and saved on this device. The SDK posts it as soon as the
            /// server can be reached.
            public static let server = Self(rawValue: "server")
            /// The purchase was made before a person signed in who already has other purchases.
            /// `restore` adds the purchase to this person.
            public static let restore = Self(rawValue: "restore")
        }
    }

    /// The balance of one currency.
    public struct Wallet: Hashable, Sendable {
        /// The balance, including unconfirmed purchases and debits.
        public var balance: Int
        /// The part of ``balance`` that the server has not confirmed yet. Negative after spending
        /// without the network.
        public var unconfirmed: Int
        /// Whether the server has answered since the launch. If false, ``balance`` is meaningless.
        public var isKnown: Bool

        public init(balance: Int, unconfirmed: Int = 0, isKnown: Bool = true) {
            self.balance = balance
            self.unconfirmed = unconfirmed
            self.isKnown = isKnown
        }
    }
}

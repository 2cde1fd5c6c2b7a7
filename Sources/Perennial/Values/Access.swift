public import Foundation

extension Perennial {
    /// Whether one entitlement is open, until when, and on what evidence.
    public struct Access: Hashable, Sendable {
        public var entitlement: EntitlementID
        /// Whether the entitlement is open, so that the app may give access. False while nothing is
        /// known: check ``isKnown`` before you show a paywall.
        public var isActive: Bool
        /// Whether it is certain that the entitlement is open or shut. An entitlement is certainly
        /// shut only after the server has reported about the customer on this installation.
        public var isKnown: Bool
        public var state: AccessState
        /// If the entitlement is open: the end of the paid time. If it is shut: when access ended.
        /// Nil if access never ends, if the customer never had the entitlement, and while nothing
        /// is known.
        public var until: Date?
        /// Whether the subscription will renew. Nil if the App Store has not said.
        public var willRenew: Bool?
        /// The product that gives access. Nil if no purchase gives access.
        public var product: ProductID?
        public var basis: Basis
        /// When the evidence was signed. Nil if there is no evidence.
        public var asOf: Date?

        public init(
            entitlement: EntitlementID, isActive: Bool, isKnown: Bool = true, state: AccessState,
            until: Date? = nil, willRenew: Bool? = nil, product: ProductID? = nil,
            basis: Basis = .server, asOf: Date? = nil
        ) {
            self.entitlement = entitlement
            self.isActive = isActive
            self.isKnown = isKnown
            self.state = state
            self.until = until
            self.willRenew = willRenew
            self.product = product
            self.basis = basis
            self.asOf = asOf
        }

        /// The number of days left at a date, by the customer's calendar. The last day counts as 1.
        /// The number is zero if access is open after ``until``, for example in a grace period. Nil
        /// if access is not open, or never ends.
        public func daysRemaining(at date: Date, calendar: Calendar = .current) -> Int? {
            guard isActive, let until else { return nil }
            guard date < until else { return 0 }
            let whole = calendar.dateComponents([.day], from: date, to: until).day ?? 0
            let end = calendar.date(byAdding: .day, value: whole, to: date) ?? date
            return end < until ? whole + 1 : whole
        }
    }

    /// The state of access, in one word. Later versions may have other states.
    public struct AccessState: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        public static let paid = Self(rawValue: "paid")
        public static let trial = Self(rawValue: "trial")
        /// A promotional, win-back or code offer covers the present moment.
        public static let offer = Self(rawValue: "offer")
        /// The renewal could not be charged, but the App Store still gives access during a grace
        /// period.
        public static let grace = Self(rawValue: "grace")
        /// The period ended, and it is not known yet whether the subscription was renewed.
        public static let unconfirmed = Self(rawValue: "unconfirmed")
        /// The product was bought to keep.
        public static let owned = Self(rawValue: "owned")
        public static let granted = Self(rawValue: "granted")
        /// Shut: the renewal could not be charged, and the App Store keeps trying.
        public static let retry = Self(rawValue: "retry")
        public static let expired = Self(rawValue: "expired")
        public static let refunded = Self(rawValue: "refunded")
        /// Shut: the family no longer shares the purchase, or a grant was withdrawn.
        public static let revoked = Self(rawValue: "revoked")
        /// Shut: the customer never had the entitlement.
        public static let never = Self(rawValue: "never")
        /// It is not known yet whether the entitlement is open or shut.
        public static let unknown = Self(rawValue: "unknown")
    }

    /// The evidence on which the decision is based.
    public struct Basis: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The server's answer.
        public static let server = Self(rawValue: "server")
        /// The server's signed token, stored on this device.
        public static let token = Self(rawValue: "token")
        /// The App Store on this device.
        public static let store = Self(rawValue: "store")
        /// A purchase that was just made, which the App Store does not list yet.
        public static let held = Self(rawValue: "held")
        public static let nothing = Self(rawValue: "nothing")
    }
}

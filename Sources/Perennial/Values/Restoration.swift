extension Perennial {
    /// The result of a restore.
    public struct Restoration: Hashable, Sendable {
        public var outcome: Outcome
        public var preview: RestorePreview
        public var snapshot: Snapshot

        public init(outcome: Outcome, preview: RestorePreview, snapshot: Snapshot) {
            self.outcome = outcome
            self.preview = preview
            self.snapshot = snapshot
        }

        public struct Outcome: RawRepresentable, Hashable, Sendable {
            public let rawValue: String
            public init(rawValue: String) { self.rawValue = rawValue }

            public static let restored = Self(rawValue: "restored")
            /// There are purchases, but the customer already has all of them.
            public static let nothingNew = Self(rawValue: "nothing_new")
            /// The store account has bought nothing.
            public static let nothingFound = Self(rawValue: "nothing_found")
            /// The restore would take a purchase from another customer, so nothing was changed.
            /// Show ``Restoration/preview``, then call `restore` with it.
            public static let needsConsent = Self(rawValue: "needs_consent")
            /// All purchases belong to another customer, and stay with that customer.
            public static let refused = Self(rawValue: "refused")
        }
    }

    /// What a restore would do, for each purchase.
    public struct RestorePreview: Hashable, Sendable {
        public var items: [ShownPurchase]

        public init(items: [ShownPurchase]) { self.items = items }

        public struct ShownPurchase: Hashable, Sendable {
            /// The purchase's original transaction id.
            public var purchase: String
            public var product: ProductID
            public var isActive: Bool
            public var effect: Effect
            /// The other customer's mail address with most letters hidden, such as "a…@e…". Nil if
            /// there is no mail address to show.
            public var ownerHint: String?

            public init(
                purchase: String, product: ProductID, isActive: Bool, effect: Effect,
                ownerHint: String? = nil
            ) {
                self.purchase = purchase
                self.product = product
                self.isActive = isActive
                self.effect = effect
                self.ownerHint = ownerHint
            }
        }

        public struct Effect: RawRepresentable, Hashable, Sendable {
            public let rawValue: String
            public init(rawValue: String) { self.rawValue = rawValue }

            /// The customer already has the purchase.
            public static let nothing = Self(rawValue: "nothing")
            /// The purchase belongs to no customer, and will belong to this customer.
            public static let links = Self(rawValue: "link")
            /// The purchase will be moved from another customer to this customer.
            public static let moves = Self(rawValue: "move")
            public static let shares = Self(rawValue: "share")
            /// The purchase belongs to another customer, and stays with that customer.
            public static let refused = Self(rawValue: "refuse")
        }
    }
}

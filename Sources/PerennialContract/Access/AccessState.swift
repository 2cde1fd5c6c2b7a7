/// The state of an entitlement's or a purchase's access, in one word.
public struct AccessState: ContractWord {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    public static let paid = Self(rawValue: "paid")
    public static let trial = Self(rawValue: "trial")
    public static let offer = Self(rawValue: "offer")
    public static let grace = Self(rawValue: "grace")
    public static let unconfirmed = Self(rawValue: "unconfirmed")
    public static let granted = Self(rawValue: "granted")
    public static let owned = Self(rawValue: "owned")
    public static let retry = Self(rawValue: "retry")
    public static let expired = Self(rawValue: "expired")
    public static let refunded = Self(rawValue: "refunded")
    public static let revoked = Self(rawValue: "revoked")

    public static let known: [Self] = [
        paid, trial, offer, grace, unconfirmed, granted, owned, retry, expired, refunded, revoked,
    ]
}

/// The App Store environment in which a purchase was made.
public struct StoreEnvironment: ContractWord {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    public static let production = Self(rawValue: "production")
    public static let sandbox = Self(rawValue: "sandbox")

    public static let known: [Self] = [production, sandbox]
}

/// Who paid for a purchase.
public struct Ownership: ContractWord {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    public static let purchased = Self(rawValue: "purchased")
    public static let familyShared = Self(rawValue: "family_shared")
    public static let assigned = Self(rawValue: "assigned")

    public static let known: [Self] = [purchased, familyShared, assigned]
}

/// The store that sold a purchase.
public struct StoreName: ContractWord {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    public static let appStore = Self(rawValue: "app_store")

    public static let known: [Self] = [appStore]
}

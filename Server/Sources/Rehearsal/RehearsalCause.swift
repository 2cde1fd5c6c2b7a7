/// Why two systems differ about an entitlement of a customer. Every difference has exactly one
/// cause. In the cases below, "here" means Perennial, and "there" means RevenueCat.
package enum RehearsalCause: String, Hashable, Sendable, CaseIterable {
    /// No cause below fits. Do not switch before each unexplained difference is understood.
    case unexplained
    /// Another id of the customer has the access here. RevenueCat treats both ids as one customer;
    /// Perennial does not.
    case aliasUnknownHere = "alias_unknown_here"
    /// Another id of the customer has the access at RevenueCat. Perennial treats both ids as one
    /// customer; RevenueCat does not.
    case aliasUnknownThere = "alias_unknown_there"
    /// Both systems know the purchase, but in one of them it belongs to another customer, or to
    /// nobody.
    case ownerDiffers = "owner_differs"
    /// Both systems know the purchase and its product, but the product gives other entitlements at
    /// RevenueCat.
    case entitlementMapping = "entitlement_mapping"
    /// Both systems name the same transaction, but different products. Or Perennial's configuration
    /// does not list the product.
    case productMapping = "product_mapping"
    /// RevenueCat has a grant that Perennial does not have, or whose end is later at RevenueCat.
    case grantedThere = "granted_there"
    /// Perennial has a grant that RevenueCat does not have, or whose end is later at Perennial.
    case grantedHere = "granted_here"
    /// The access at RevenueCat comes from a store other than Apple's.
    case otherStore = "other_store"
    /// The access comes from family sharing, which only one of the systems has seen.
    case familySharing = "family_sharing"
    /// RevenueCat counts a purchase in the sandbox.
    case sandbox
    /// The period is over, and Perennial has received neither a renewal nor an end. Perennial keeps
    /// the access open for the time of `unconfirmed_hours`.
    case unconfirmedHere = "unconfirmed_here"
    /// A payment fails, and until it is collected the two systems give access for different times.
    case billingReading = "billing_reading"
    /// RevenueCat still gives access for a purchase that Apple has refunded or revoked.
    case refundIgnoredThere = "refund_ignored_there"
    /// Perennial has certain documents, which Apple has signed. Without these documents,
    /// Perennial's answer would be the same as RevenueCat's.
    case missedThere = "missed_there"
    /// Like ``missedThere``, but a document arrived only a moment ago, or a second comparison found
    /// no difference.
    case lateThere = "late_there"
    /// The two ends are very close to each other, or the end is very close to now. A difference
    /// between clocks explains this.
    case clock

    /// One sentence for a report.
    package var sentence: String {
        switch self {
        case .unexplained: "No known cause fits."
        case .aliasUnknownHere: "Another id, which RevenueCat counts to the customer, has it here."
        case .aliasUnknownThere: "Another id, which Perennial counts to the customer, has it there."
        case .ownerDiffers: "The purchase has another owner, or none, in one of the systems."
        case .entitlementMapping: "The product gives other entitlements there."
        case .productMapping: "The product has another name there, or is not listed here."
        case .grantedThere: "RevenueCat has a grant that is not here, or that ends later."
        case .grantedHere: "Perennial has a grant that is not there, or that ends later."
        case .otherStore: "The purchase is from another store than Apple's."
        case .familySharing: "Only one system has seen the family sharing."
        case .sandbox: "RevenueCat counts a purchase in the sandbox."
        case .unconfirmedHere: "The renewal is unconfirmed, so access is still held open here."
        case .billingReading: "A payment fails, and the two read the grace period differently."
        case .refundIgnoredThere: "RevenueCat ignores a refund or a revocation."
        case .missedThere: "RevenueCat lacks a document that Apple signed."
        case .lateThere: "RevenueCat gets a document later."
        case .clock: "The ends are closer than the tolerance."
        }
    }

    /// What the operator can do about the difference before the switch.
    package var remedy: String {
        switch self {
        case .unexplained:
            "Compare `perennial explain` with RevenueCat's page of the customer. If the purchase "
                + "is unknown here, import its transaction id."
        case .aliasUnknownHere: "Run `perennial import-revenuecat`, which adds all ids."
        case .aliasUnknownThere: "Nothing: Perennial knows more."
        case .ownerDiffers: "Transfer the purchase, or let the customer's device post it."
        case .entitlementMapping: "Compare `products` in perennial.yaml with RevenueCat's products."
        case .productMapping: "List the product in perennial.yaml."
        case .grantedThere: "Grant it here, or compare the ends, if the customer should have it."
        case .grantedHere: "Nothing, if the grant and its end are wanted."
        case .otherStore: "Grant it here: Perennial serves only the App Store."
        case .familySharing: "Nothing: the family member's device posts the purchase."
        case .sandbox: "Nothing: the sandbox never opens production access here."
        case .unconfirmedHere: "Run `perennial reconcile`, which asks Apple."
        case .billingReading: "Compare the grace period in App Store Connect and at RevenueCat."
        case .refundIgnoredThere: "Nothing: Apple has signed the refund."
        case .missedThere: "Nothing: Apple has signed the document."
        case .lateThere: "Nothing."
        case .clock: "Nothing."
        }
    }
}

/// The change for the customer that the switch from RevenueCat to Perennial would cause.
package enum RehearsalEffect: String, Hashable, Sendable, CaseIterable {
    /// Access that RevenueCat gives now would end.
    case loses
    /// Access that RevenueCat does not give now would open.
    case gains
    /// Access stays as it is now.
    case none
}

/// Why two systems differ about an entitlement of a customer. Every difference has exactly one.
package enum RehearsalCause: String, Hashable, Sendable, CaseIterable {
    /// No cause below fits. Do not switch before each of these is understood.
    case unexplained
    /// The other ids of the customer have the access here. RevenueCat counts this id to the same
    /// customer, Perennial does not.
    case aliasUnknownHere = "alias_unknown_here"
    /// The other ids of the customer have the access at RevenueCat. Perennial counts this id to the
    /// same customer, RevenueCat does not.
    case aliasUnknownThere = "alias_unknown_there"
    /// Both know the purchase, but in one of the systems it belongs to another customer, or to
    /// nobody.
    case ownerDiffers = "owner_differs"
    /// Apple's configuration is the same, but the product gives other entitlements there.
    case entitlementMapping = "entitlement_mapping"
    /// Both name the same transaction, but other products; or the product is not listed here.
    case productMapping = "product_mapping"
    /// RevenueCat counts a grant that Perennial does not have, or that ends later there.
    case grantedThere = "granted_there"
    /// Perennial counts a grant that RevenueCat does not have, or that ends later here.
    case grantedHere = "granted_here"
    /// The access at RevenueCat comes from a store other than Apple's.
    case otherStore = "other_store"
    /// The access comes from family sharing, which only one of the systems has seen.
    case familySharing = "family_sharing"
    /// RevenueCat counts a purchase in the sandbox.
    case sandbox
    /// The period is over, and neither a renewal nor an end has arrived here. Access stays open
    /// here for the time of `unconfirmed_hours`.
    case unconfirmedHere = "unconfirmed_here"
    /// A payment fails, and the systems give access for different times meanwhile.
    case billingReading = "billing_reading"
    /// RevenueCat still gives what Apple has refunded or revoked.
    case refundIgnoredThere = "refund_ignored_there"
    /// RevenueCat's answer is the one that follows without certain documents, which Apple has
    /// signed and Perennial has.
    case missedThere = "missed_there"
    /// As with a missed document, but the document is young, or a second look agreed.
    case lateThere = "late_there"
    /// The two ends are so close to each other, or to now, that the clocks explain it.
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

    /// What the operator can do before the switch.
    package var remedy: String {
        switch self {
        case .unexplained:
            "Compare `perennial explain` with RevenueCat's page of the customer. If the purchase "
                + "is unknown here, import its transaction id."
        case .aliasUnknownHere: "Add the id: POST /v1/customers/{id}/aliases."
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

/// What the switch from RevenueCat to Perennial would change for the customer.
package enum RehearsalEffect: String, Hashable, Sendable, CaseIterable {
    /// Access that RevenueCat gives now would end.
    case loses
    /// Access that RevenueCat does not give now would open.
    case gains
    /// Access stays as it is now.
    case none
}

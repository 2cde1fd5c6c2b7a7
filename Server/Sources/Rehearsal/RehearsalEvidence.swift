import Ledger

/// One document of ours about a purchase.
package struct RehearsalDocument: Hashable, Sendable {
    package var id: DocumentID
    /// When Apple attested the document's content.
    package var attestedAt: Instant
    /// When the document first arrived at Perennial.
    package var receivedAt: Instant
    /// Whether the document attests a refund, or the end of family sharing.
    package var isRevocation: Bool

    package init(id: DocumentID, attestedAt: Instant, receivedAt: Instant, isRevocation: Bool) {
        self.id = id
        self.attestedAt = attestedAt
        self.receivedAt = receivedAt
        self.isRevocation = isRevocation
    }
}

/// The opinion that Perennial would have if some of the documents had never arrived.
package struct RehearsalAlternative: Hashable, Sendable {
    package var opinion: RehearsalOpinion
    /// The documents that this opinion leaves out.
    package var missing: [RehearsalDocument]

    package init(_ opinion: RehearsalOpinion, missing: [RehearsalDocument]) {
        self.opinion = opinion
        self.missing = missing
    }
}

/// The evidence besides the two opinions. It is collected only if the opinions differ.
package struct RehearsalEvidence: Hashable, Sendable {
    /// Our documents about purchases that give or gave the entitlement, the newest first.
    package var documents: [RehearsalDocument]
    /// Opinions without some of the documents. The first alternative that equals RevenueCat's
    /// opinion explains the difference.
    package var alternatives: [RehearsalAlternative]
    /// Another id that has the access at Perennial. According to RevenueCat, the id belongs to the
    /// customer.
    package var idWithAccessHere: CustomerID?
    /// Another id that has the access at RevenueCat. According to Perennial, the id belongs to the
    /// customer.
    package var idWithAccessThere: CustomerID?
    /// Whether the purchase belongs to another customer, or to nobody, in the system that gives no
    /// access.
    package var isOwnedByAnother: Bool
    /// Whether Perennial's configuration lists the product that RevenueCat names.
    package var isTheirProductListed: Bool
    /// Whether the purchase that RevenueCat names belongs to the customer at Perennial, is open,
    /// and gives other entitlements there.
    package var isTheirPurchaseOpenHere: Bool
    /// Whether the purchase that RevenueCat names belongs to the customer at Perennial, whichever
    /// entitlements it gives.
    package var isTheirPurchaseKnownHere: Bool
    /// Whether the purchase that Perennial names belongs to the customer at RevenueCat, is open,
    /// and gives other entitlements there.
    package var isOurPurchaseOpenThere: Bool

    package init(
        documents: [RehearsalDocument] = [], alternatives: [RehearsalAlternative] = [],
        idWithAccessHere: CustomerID? = nil, idWithAccessThere: CustomerID? = nil,
        isOwnedByAnother: Bool = false, isTheirProductListed: Bool = true,
        isTheirPurchaseOpenHere: Bool = false, isTheirPurchaseKnownHere: Bool = false,
        isOurPurchaseOpenThere: Bool = false
    ) {
        self.documents = documents
        self.alternatives = alternatives
        self.idWithAccessHere = idWithAccessHere
        self.idWithAccessThere = idWithAccessThere
        self.isOwnedByAnother = isOwnedByAnother
        self.isTheirProductListed = isTheirProductListed
        self.isTheirPurchaseOpenHere = isTheirPurchaseOpenHere
        self.isTheirPurchaseKnownHere = isTheirPurchaseKnownHere
        self.isOurPurchaseOpenThere = isOurPurchaseOpenThere
    }
}

/// The limits within which a late document, or a difference between clocks, explains a difference.
package struct RehearsalRules: Hashable, Sendable {
    /// For this long after a document has arrived here, RevenueCat may still lack the document.
    package var lateness: Duration
    /// If two ends differ by at most this time, a difference between clocks explains that.
    package var tolerance: Duration

    package static let latenessDefault = Duration.seconds(900)
    package static let toleranceDefault = Duration.seconds(60)

    package init(
        lateness: Duration = Self.latenessDefault, tolerance: Duration = Self.toleranceDefault
    ) {
        self.lateness = lateness
        self.tolerance = tolerance
    }
}

import Ledger

/// One document of ours about a purchase.
package struct RehearsalDocument: Hashable, Sendable {
    package var id: DocumentID
    /// When Apple attested its content.
    package var attestedAt: Instant
    /// When it first arrived here.
    package var receivedAt: Instant
    /// Whether it attests a refund, or the end of family sharing.
    package var isRevocation: Bool

    package init(id: DocumentID, attestedAt: Instant, receivedAt: Instant, isRevocation: Bool) {
        self.id = id
        self.attestedAt = attestedAt
        self.receivedAt = receivedAt
        self.isRevocation = isRevocation
    }
}

/// What our opinion would be if some of the documents had never arrived.
package struct RehearsalAlternative: Hashable, Sendable {
    package var opinion: RehearsalOpinion
    /// The documents that this opinion leaves out.
    package var missing: [RehearsalDocument]

    package init(_ opinion: RehearsalOpinion, missing: [RehearsalDocument]) {
        self.opinion = opinion
        self.missing = missing
    }
}

/// What is known besides the two opinions. It is collected only if they differ.
package struct RehearsalEvidence: Hashable, Sendable {
    /// Our documents about purchases that give or gave the entitlement, the newest first.
    package var documents: [RehearsalDocument]
    /// Sorted by the number of missing documents, the smallest first.
    package var alternatives: [RehearsalAlternative]
    /// Another id that RevenueCat counts to the customer, which has the access here.
    package var idWithAccessHere: CustomerID?
    /// Another id that Perennial counts to the customer, which has the access there.
    package var idWithAccessThere: CustomerID?
    /// Whether the purchase belongs to another customer, or to nobody, in the system that refuses
    /// the access.
    package var isOwnedByAnother: Bool
    /// Whether the configuration lists their product.
    package var isTheirProductListed: Bool
    /// Whether their purchase belongs to the customer here, is open, and gives other entitlements.
    package var isTheirPurchaseOpenHere: Bool
    /// Whether their purchase belongs to the customer here, whatever it gives.
    package var isTheirPurchaseKnownHere: Bool
    /// Whether our purchase belongs to the customer there, is open, and gives other entitlements.
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

/// The limits by which a difference counts as late, or as one of the clocks.
package struct RehearsalRules: Hashable, Sendable {
    /// How young a document is that RevenueCat may not have yet.
    package var lateness: Duration
    /// How far two ends may be apart because of the clocks.
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

import Ledger
import Storage

/// What posting purchases would do, and whether buying a product makes sense. Requesting a preview
/// changes nothing.
package struct Preview: Hashable, Sendable {
    package var environment: Environment
    package var purchases: [Shown]
    package var advice: Advice?

    /// One purchase that a device shows.
    package struct Shown: Hashable, Sendable {
        package var purchase: PurchaseID
        package var product: ProductID?
        /// Whether it gives something now.
        package var isInUse: Bool
        /// The owner, or the customer that the purchase names if it has no owner; nil if it names
        /// nobody.
        package var owner: CustomerID?
        package var belongsToClaimant: Bool
        package var ownerKind: CustomerKind?
        /// A mask of the owner's mail address, if one of the owner's ids is one.
        package var ownerHint: String?
        package var verdict: OwnershipClaim.Verdict
    }

    /// Whether this customer should buy a product.
    package struct Advice: Hashable, Sendable {
        package var product: ProductID
        /// If nil, the customer should buy it.
        package var obstacle: Obstacle?
    }

    package enum Obstacle: String, Hashable, Sendable {
        /// A term of the same chain is running, and the app sells no second one.
        case termRunning = "term_runs"
        /// The customer already has it: the App Store would not sell it again, or the purchase
        /// would have no effect.
        case alreadyHad = "already_had"
        /// The store account of this device pays for another customer: the purchase would be added
        /// there.
        case accountOfAnother = "store_account_of_another"
    }
}

extension RecordingService {
    /// Determines who owns the purchases that a device shows, and what posting them would do; and,
    /// for a product that may be bought, whether it should be. Nothing is written.
    ///
    /// - Parameter environment: where the product would be bought, if no purchase is shown.
    package func preview(
        _ evidence: PurchaseEvidence, of id: CustomerID, buying product: ProductID?,
        intent: OwnershipClaim.Intent? = nil, app appID: AppID, environment: Environment
    ) async throws(EngineFailure) -> Preview {
        let (app, verifier) = try context.app(appID)
        try id.requireValid()
        try evidence.requireWithinLimit()
        let now = context.now()
        let origin = VerifiedDocument.Origin(
            app: app, source: .device, receivedAt: now, digests: context.digests)
        let posted = try await verification.verify(
            evidence, verifier, origin, isPartial: intent != nil)
        let attestations = posted.compactMap(\.verified)
        let environment = attestations.first?.document.environment ?? environment
        return try await context.read { tx in
            let shown = try PurchaseDecisions(tx).shown(
                attestations, to: id, intent: intent, in: app, at: now)
            let advice = try product.map {
                Preview.Advice(
                    product: $0,
                    obstacle: try PurchaseDecisions(tx).obstacle(
                        to: $0, of: id, shown, in: app, environment: environment, at: now))
            }
            return Preview(environment: environment, purchases: shown, advice: advice)
        }
    }
}

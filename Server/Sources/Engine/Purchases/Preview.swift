import Ledger
import Storage

/// A preview of posting purchases: what the posting would do, and whether the customer should buy a
/// product. A preview changes nothing.
package struct Preview: Hashable, Sendable {
    package var environment: Environment
    package var purchases: [Shown]
    package var advice: Advice?

    /// One purchase that a device presents.
    package struct Shown: Hashable, Sendable {
        package var purchase: PurchaseID
        package var product: ProductID?
        /// Whether the purchase gives access now.
        package var isInUse: Bool
        /// The owner of the purchase or, if the purchase has no owner, the customer whom the
        /// purchase names. Nil if there is no such customer.
        package var owner: CustomerID?
        package var belongsToClaimant: Bool
        package var ownerKind: CustomerKind?
        /// A masked mail address of the owner. Nil if none of the owner's ids is a mail address.
        package var ownerHint: String?
        package var verdict: OwnershipClaim.Verdict
    }

    /// Whether this customer should buy a product.
    package struct Advice: Hashable, Sendable {
        package var product: ProductID
        /// Why the customer should not buy the product. Nil if the customer should buy it.
        package var obstacle: Obstacle?
    }

    package enum Obstacle: String, Hashable, Sendable {
        /// A term of the same chain is running, and the app does not sell a second one.
        case termRunning = "term_runs"
        /// The customer already has the product: the App Store would not sell it again, or the
        /// purchase would have no effect.
        case alreadyHad = "already_had"
        /// The store account of this device pays for another customer: the App Store would add the
        /// purchase to that customer's purchases.
        case accountOfAnother = "store_account_of_another"
    }
}

extension RecordingService {
    /// Determines who owns the purchases that a device presents, and what posting them would do.
    /// For a product that may be bought, also determines whether the customer should buy it. Writes
    /// nothing.
    ///
    /// - Parameter environment: the environment in which the product would be bought, if no
    ///   purchase is presented.
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

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

extension Engine {
    /// Determines who owns the purchases that a device shows, and what posting them would do; and,
    /// for a product that may be bought, whether it should be. Nothing is written.
    ///
    /// - Parameter environment: where the product would be bought, if no purchase is shown.
    package func preview(
        _ evidence: PurchaseEvidence, of id: CustomerID, buying product: ProductID?,
        intent: OwnershipClaim.Intent? = nil, app appID: AppID, environment: Environment
    ) async throws(EngineFailure) -> Preview {
        let (app, verifier) = try app(appID)
        try id.requireValid()
        try evidence.requireWithinLimit()
        let now = now()
        let origin = VerifiedDocument.Origin(
            app: app, source: .device, receivedAt: now, digests: digests)
        let posted = try await verify(evidence, verifier, origin, isPartial: intent != nil)
        let attestations = posted.compactMap(\.verified)
        let environment = attestations.first?.document.environment ?? environment
        return try await read { tx in
            let shown = try tx.shown(attestations, to: id, intent: intent, in: app, at: now)
            let advice = try product.map {
                Preview.Advice(
                    product: $0,
                    obstacle: try tx.obstacle(
                        to: $0, of: id, shown, in: app, environment: environment, at: now))
            }
            return Preview(environment: environment, purchases: shown, advice: advice)
        }
    }
}

extension DatabaseSession {
    fileprivate func shown(
        _ attestations: [VerifiedDocument], to id: CustomerID, intent: OwnershipClaim.Intent?,
        in app: AppSettings, at now: Instant
    ) throws -> [Preview.Shown] {
        let facts = attestations.flatMap(\.facts)
        let payments = Set(attestations.filter(\.isPayment).flatMap { $0.facts.map(\.purchase) })
        let signed = attestations.signingTimes
        let purchases = signed.keys.filter { $0.appTransaction == nil }
        return try purchases.sorted().compactMap { purchase in
            let known = try timeline(of: purchase, in: app.id)
            guard known != nil || payments.contains(purchase) else {
                if intent != nil { return nil }
                throw EngineFailure.renewalWithoutTransaction(purchase.original.rawValue)
            }
            let timeline = (known ?? Timeline(of: purchase, [])).adding(facts)
            let claim = try claim(
                timeline, signedAt: signed[purchase], by: id, intent: intent, in: app, at: now)
            let owner = claim.owner?.customer ?? claim.named
            let access = timeline.access(at: now, rules: app.rules)
            return Preview.Shown(
                purchase: purchase, product: access?.product ?? timeline.periods.last?.product,
                isInUse: access?.isOpen ?? claim.isInUse, owner: owner,
                belongsToClaimant: owner != nil && owner == claim.claimant,
                ownerKind: try owner.map { try customerKind(of: $0, in: app.id) },
                ownerHint: try owner.flatMap { try mailMask(of: $0, in: app.id) },
                verdict: app.verdict(on: claim, in: purchase.environment))
        }
    }

    private func customerKind(of owner: CustomerID, in app: AppID) throws -> CustomerKind {
        CustomerKind(isAnonymous: try isAnonymous(owner, in: app))
    }

    /// A mask of the first id of a customer that is a mail address.
    private func mailMask(of owner: CustomerID, in app: AppID) throws -> String? {
        let ids = try customer(known: owner, in: app)?.ids ?? [owner]
        return ids.lazy.compactMap(\.mailMask).first
    }

    fileprivate func obstacle(
        to product: ProductID, of id: CustomerID, _ shown: [Preview.Shown],
        in app: AppSettings, environment: Environment, at now: Instant
    ) throws -> Preview.Obstacle? {
        let isForeign = shown.contains { purchase in
            if case .refuse = purchase.verdict { purchase.isInUse } else { false }
        }
        if isForeign { return .accountOfAnother }
        let timelines = try timelines(answeringFor: id, in: app, environment: environment)
        if let chain = app.terms.products[product]?.chain, app.terms.overlap == .refuse {
            let runs = app.terms.terms(of: timelines).contains {
                $0.chain == chain && now < $0.until
            }
            return runs ? .termRunning : nil
        }
        let known = try customer(known: id, in: app.id)
        let seats = try seatTimelines(of: known, in: app.id, environment: environment, at: now)
        let has = (timelines + seats).contains {
            guard let access = $0.access(at: now, rules: app.rules) else { return false }
            return access.isOpen && access.product == product
        }
        return has ? .alreadyHad : nil
    }
}

/// The rules by which a device decides which entitlements are open, from the evidence of the server
/// and of the App Store on the device. The rules are a pure function of evidence and time.
///
/// 1. *Known.* An entitlement is open if there is evidence that opens it. Without such evidence, an
///    entitlement is shut only if the server has reported about the customer, in an answer or a
///    stored token, and has decided about every purchase. Otherwise the entitlement is unknown,
///    because the App Store on a device knows only one store account, and no grants.
/// 2. *Evidence is per purchase.* One valid source is enough. If several apply, the latest end
///    counts.
/// 3. *Owner.* A purchase of another person gives no access here. A purchase that this device first
///    saw for another customer gives no access until the server has decided about it.
/// 4. *The later signed statement counts.* A refund closes access at once, unless a later document
///    no longer reports the refund.
/// 5. *Missing data changes nothing*, with one exception: a purchase that is missing twice from
///    lists that are not empty. Nothing is shut before the store was asked. If the store does not
///    answer, a stored token shuts nothing.
/// 6. *Hold.* After a period whose renewal is not confirmed, an entitlement stays open for a while.
/// 7. *An entitlement is shut only on proof*: newer evidence, a lapse that was seen twice, or an
///    end after which the server or the store has answered. Silence proves nothing: after the hold,
///    the entitlement is unknown.
/// 8. *Time* is computed by ``ReckonedClock``.
/// 9. *Offline.* Entitlements without an end, and entitlements that only the server knows, count
///    until `offlineUntil`. After that, they are unknown.
/// 10. *Products.* A product that is missing from the server's current offerings gives no access.
///    Offerings of an earlier launch or of the app's bundle prove which entitlements a product
///    opens, but not which entitlements it does not open.
package enum AccessRules {
    /// Decides whether one entitlement is open, and explains it.
    package static func decision(on entitlement: String, by evidence: Evidence) -> AccessDecision {
        AccessEvaluation(entitlement, SortedEvidence(evidence)).decision
    }

    /// Decides about every entitlement that is named in any evidence.
    package static func decisions(by evidence: Evidence) -> [String: AccessDecision] {
        var names: Set<String> = []
        names.formUnion(evidence.server.map { Array($0.rights.keys) } ?? [])
        for transaction in evidence.store.transactions.values {
            names.formUnion(evidence.meanings[transaction.productID]?.entitlements ?? [])
        }
        let prepared = SortedEvidence(evidence)
        return names.reduce(into: [:]) { $0[$1] = AccessEvaluation($1, prepared).decision }
    }
}

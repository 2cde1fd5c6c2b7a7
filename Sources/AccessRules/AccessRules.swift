/// The rules by which a device decides what is open, from what the server and the App Store on
/// the device have said. A pure function of evidence and time.
///
///  1. *Known.* What is open is known. What nothing opens is shut only if the server has said
///     something about the customer, in an answer or in a kept token, and if it has decided
///     about everything that was bought. Otherwise the right is neither open nor shut. The App
///     Store on a device speaks for one store account, and knows no grants.
///  2. *Evidence is per purchase.* One valid source is enough. If several apply, the latest end
///     counts.
///  3. *Whose.* A purchase of another person opens nothing here, and neither does one that this
///     device first saw for another customer and that the server has not decided about.
///  4. *The later signed statement counts.* A refund closes access at once, unless a later
///     document no longer reports it.
///  5. *Missing data changes nothing*, unless a list that is not empty does not contain a purchase
///     twice. Nothing shuts before the store was asked; if it does not answer, a kept token shuts
///     nothing.
///  6. *Held.* After a period whose renewal is not confirmed, a right stays open for a while.
///  7. *It shuts on proof only*: newer evidence, a lapse that was seen twice, or an end since which
///     somebody has answered. Silence proves nothing: after the hold, the right is unknown.
///  8. *Time* is reckoned: ``ReckonedClock``.
///  9. *Offline.* Rights without an end, and rights only the server knows, count until
///     `offlineUntil`. Then they are unknown.
/// 10. *Meaning.* A product that the server's present offerings do not contain gives nothing.
///     Offerings of an earlier launch or of the app's bundle say what opens, never what does not.
package enum AccessRules {
    /// What is open, and why.
    package static func decision(on entitlement: String, by evidence: Evidence) -> AccessDecision {
        AccessEvaluation(entitlement, SortedEvidence(evidence)).decision
    }

    /// Decides about every entitlement that any evidence names.
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

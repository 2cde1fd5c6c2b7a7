import Ledger

/// A purchase that continues another one: the App Store has closed a chain of renewals, and has
/// opened a new one with an id of its own (Apple: `previousOriginalTransactionId`).
package struct Succession: Hashable, Sendable {
    package var from: PurchaseID
    package var to: PurchaseID

    package init(from: PurchaseID, to: PurchaseID) {
        self.from = from
        self.to = to
    }
}

extension DatabaseSession {
    /// Links each purchase that continues another one to the customer who has that one, on the same
    /// evidence. The app posts nothing in this case, because nothing was bought. This includes a
    /// known customer who has the earlier purchase by its account token only.
    ///
    /// Does nothing if the new purchase has an owner already, or carries an account token that the
    /// old one does not. If the old purchase has no owner yet, the next document about the new one
    /// links it.
    func linkSuccessors(
        _ attested: [DocumentWithFacts], _ purses: inout WalletProjectionCache
    ) throws(StorageFailure) {
        for one in attested {
            guard let succession = one.succession else { continue }
            let (app, new) = (one.document.app, succession.to)
            guard try link(of: new, in: app) == nil,
                let after = try timeline(of: new, in: app)
            else { continue }
            let token = try timeline(of: succession.from, in: app)?.accountToken
            if let now = after.accountToken, now != token { continue }
            let old = try link(of: succession.from, in: app)
            guard let owner = try beneficiary(old?.customer, token: token, in: app) else {
                continue
            }
            try link(
                new, to: owner, by: old?.evidence ?? .token, document: old?.document, in: app,
                at: one.document.receivedAt, &purses)
        }
    }
}

import Ledger

/// One purchase that went on as another: the store has closed the first chain of renewals, and has
/// opened a second one with a number of its own (Apple: `previousOriginalTransactionId`).
package struct Succession: Hashable, Sendable {
    package var from: PurchaseID
    package var to: PurchaseID

    package init(from: PurchaseID, to: PurchaseID) {
        self.from = from
        self.to = to
    }
}

extension StoreTransaction {
    /// Links each purchase that took the place of another to whoever has that one, by the same
    /// evidence: the app posts nothing then, since nothing was bought. Who has it by its account
    /// token alone, and is known, is meant as well.
    ///
    /// Not where the new purchase is somebody's already, or names an account that the old one did
    /// not name. Where the old one is nobody's yet, the next document about the new one does it.
    func inherit(
        _ attested: [AttestedDocument], _ purses: inout Purses
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
            guard let owner = try holder(old?.customer, token: token, in: app) else { continue }
            try link(
                new, to: owner, by: old?.evidence ?? .token, in: app,
                at: one.document.receivedAt, &purses)
        }
    }
}

import Ledger

/// A purchase that continues another purchase: the App Store has closed a chain of renewals, and
/// has opened a new chain with another id (Apple: `previousOriginalTransactionId`).
package struct Succession: Hashable, Sendable {
    package var from: PurchaseID
    package var to: PurchaseID

    package init(from: PurchaseID, to: PurchaseID) {
        self.from = from
        self.to = to
    }
}

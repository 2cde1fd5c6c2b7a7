import Ledger

/// When a product was bought, and when a restore made the transaction that reports it.
///
/// A restored transaction has another purchase date. For one-time purchases, the first date counts:
/// non-consumables can be restored under the same transaction id, other products only under another
/// id.
struct PurchaseDates {
    var from: Instant
    var restoredAt: Instant?

    /// - Parameters:
    ///   - original: the date of the original transaction. Nil if the document does not contain it.
    ///   - ends: whether the document names an end.
    ///   - isOriginal: whether the transaction itself is the original transaction.
    init(
        purchased: Instant, original: Instant?, _ kind: ProductKind, ends: Bool, isOriginal: Bool
    ) {
        (from, restoredAt) = (purchased, nil)
        guard let original, original < purchased, !ends else { return }
        switch kind {
        case .nonConsumable: break
        case .consumable, .nonRenewing, .unknown: guard !isOriginal else { return }
        case .autoRenewable: return
        }
        (from, restoredAt) = (original, purchased)
    }
}

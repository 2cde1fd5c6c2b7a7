import AppStoreFormats

/// A refund that was reversed. Recorded because the transaction does not show it any more.
struct ReversedRefund: Hashable, Sendable {
    let revocation: StoreTransaction.Revocation
    let reversed: AppStoreDate
}

extension World {
    /// Maximum number of transactions whose reversed refunds are recorded. Reversed refunds of
    /// further transactions are not recorded.
    static let reversedRefundsMax = 100_000
    /// Maximum number of reversed refunds of one transaction that are recorded.
    static let reversalsMax = 100

    /// Records the refund of a transaction as reversed. Does nothing if the transaction has no
    /// refund.
    mutating func recordReversal(of transaction: StoreTransaction, at now: AppStoreDate) {
        guard let revocation = transaction.revocation,
            reversedRefunds.count < Self.reversedRefundsMax,
            reversedRefunds[transaction.id]?.count ?? 0 < Self.reversalsMax
        else { return }
        reversedRefunds[transaction.id, default: []].append(
            ReversedRefund(revocation: revocation, reversed: now))
    }
}

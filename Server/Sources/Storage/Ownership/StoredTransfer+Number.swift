import Ledger

// The number of a transfer consists of a time in milliseconds and some bits of a digest. The time
// orders the numbers. The digest is computed from the purchase and the log's epoch. So two servers
// rarely choose the same number, and a number from before a restore is not chosen again. A number
// is greater than the numbers of all earlier transfers of its two customers, even if the clocks of
// two servers differ.

extension StoredTransfer {
    /// How many low bits of a number distinguish the transfers of one millisecond.
    private static let digestBits: Int64 = 20
    /// The maximum time that fits into a number, in milliseconds since 1970: the year 2248.
    private static let millisecondsMax: Int64 = (1 << 43) - 2

    /// The smallest number of a transfer, whatever the clock says.
    static let firstNumber: Int64 = 1 << 50

    /// A number for a new transfer.
    ///
    /// - Parameters:
    ///   - epoch: the present epoch of the log.
    ///   - last: the greatest number of earlier transfers of both customers.
    static func number(
        of purchase: PurchaseID, epoch: String?, after last: Int64, at now: Instant
    ) -> Int64 {
        let first = firstNumber >> digestBits
        let time = max(now.milliseconds, first, (last >> digestBits) + 1)
        return min(time, millisecondsMax) << digestBits + digest("\(epoch ?? "") \(purchase)")
    }

    /// A digest of a text: the upper bits of its FNV-1a hash.
    private static func digest(_ text: String) -> Int64 {
        var digest: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in text.utf8 { digest = (digest ^ UInt64(byte)) &* 0x100_0000_01b3 }
        return Int64(digest >> (64 - UInt64(digestBits)))
    }
}

extension TransferRows {
    /// The maximum number of attempts to find a number that is not taken.
    private static let numberTrialsMax = 100

    /// Stores a new transfer under an unused number.
    ///
    /// - Parameters:
    ///   - former: the customer who had the purchase before; nil if the purchase had no owner.
    ///   - reason: the reason given by the person who requested the transfer; empty if a device
    ///     caused it.
    package func add(
        _ kind: StoredTransfer.Kind, of purchase: PurchaseID, from former: CustomerID?,
        to customer: CustomerID, by evidence: OwnershipClaim.Evidence, reason: String,
        in app: AppID, at now: Instant
    ) throws(StorageFailure) -> StoredTransfer {
        var transfer = StoredTransfer(
            number: 0, purchase: purchase, kind: kind, former: former, customer: customer,
            evidence: evidence, reason: reason, at: now)
        var last: Int64 = 0
        for person in [transfer.customer, transfer.former].compactMap({ $0 }) {
            last = max(last, try all(of: person, in: app).last?.number ?? 0)
        }
        transfer.number = StoredTransfer.number(
            of: transfer.purchase, epoch: try tx.events.epochs(of: app).current, after: last,
            at: transfer.at)
        for _ in 0..<Self.numberTrialsMax {
            if try insert(transfer, in: app) { return transfer }
            transfer.number += 1
        }
        throw StorageFailure("no number is free for a transfer, from \(transfer.number) on")
    }

    /// Inserts a transfer. Returns false if another transfer has its number.
    private func insert(
        _ transfer: StoredTransfer, in app: AppID
    ) throws(StorageFailure) -> Bool {
        try connection.run(
            "INSERT INTO transfers (app, \(Self.transferColumns)) "
                + "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, NULL) "
                + "ON CONFLICT (app, transfer) DO NOTHING",
            [
                .text(app.rawValue), .integer(transfer.number),
                .text(transfer.purchase.environment.rawValue),
                .text(transfer.purchase.original.rawValue), .text(transfer.kind.rawValue),
                .text(transfer.former?.rawValue), .text(transfer.customer.rawValue),
                .text(transfer.evidence.rawValue), .text(transfer.reason),
                .integer(transfer.at.milliseconds),
            ]) > 0
    }
}

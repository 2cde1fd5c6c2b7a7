import Ledger

// The numbers of transfers: a time, so that they are ordered, and a few bits of the purchase, so
// that two servers rarely choose the same one. They continue after every earlier number of both
// customers, even if the clocks of two servers differ.

extension Transfer {
    /// The low bits of a number, which tell apart the transfers of one millisecond.
    private static let purchaseBits: Int64 = 20
    /// Milliseconds since 1970 up to here fit into a number: the year 2248.
    private static let millisecondsMax: Int64 = (1 << 43) - 2

    /// Smaller numbers are those of events: transfers by earlier versions have these.
    static let firstNumber: Int64 = 1 << 50

    /// A number for a new transfer.
    ///
    /// - Parameter last: the greatest number of earlier transfers of both customers.
    static func number(of purchase: PurchaseID, after last: Int64, at now: Instant) -> Int64 {
        // FNV-1a
        var digest: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in "\(purchase)".utf8 { digest = (digest ^ UInt64(byte)) &* 0x100_0000_01b3 }
        let low = Int64(digest >> 44)
        let time = min(max(now.milliseconds, 0), millisecondsMax)
        return max(firstNumber + low, time << purchaseBits + low, last + 1)
    }
}

extension DatabaseSession {
    /// The maximum number of transfers in a row whose numbers are taken.
    private static let numberTrialsMax = 100

    /// Stores a new transfer with a number of its own.
    func insertTransfer(
        _ transfer: Transfer, in app: AppID
    ) throws(StorageFailure) -> Transfer {
        var transfer = transfer
        var last: Int64 = 0
        for person in [transfer.customer, transfer.former].compactMap({ $0 }) {
            last = max(last, try transfers(of: person, in: app).last?.number ?? 0)
        }
        transfer.number = Transfer.number(of: transfer.purchase, after: last, at: transfer.at)
        for _ in 0..<Self.numberTrialsMax {
            if try insert(transfer, in: app) { return transfer }
            transfer.number += 1
        }
        throw StorageFailure("the numbers of transfers from \(transfer.number) on are taken")
    }

    /// Returns false if the number is taken.
    private func insert(
        _ transfer: Transfer, in app: AppID
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

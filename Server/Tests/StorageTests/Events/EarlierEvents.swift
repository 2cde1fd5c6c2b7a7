import Ledger

@testable import Storage

// Events as versions before the JSON wrote them. Their rows stay readable for ever.

/// The last layout of the binary form.
private let entryLayout: Int64 = 5

extension EventEntry {
    /// What the column `body` held.
    var earlierBody: [UInt8] {
        var writer = ByteWriter()
        writer.write(entryLayout)
        writer.write(cause.isRebuild)
        writer.write(cause.isRequest)
        writer.write(accountToken) { $0.write($1) }
        writer.write(other?.rawValue) { $0.write($1) }
        writer.write(evidence?.rawValue) { $0.write($1) }
        writer.write(change)
        writer.write(change.grant) { $0.write($1) }
        writer.write(change.ending) { $0.write($1) }
        writer.write(change.wallet) { $0.write($1) }
        writer.write(change.grantEnvironment?.rawValue) { $0.write($1) }
        return writer.bytes
    }
}

extension EventEntry.Cause {
    fileprivate var isRebuild: Bool { self == .rebuild }
    fileprivate var isRequest: Bool { self == .request }
}

extension ByteWriter {
    fileprivate mutating func write(_ change: Change) {
        write(change.at.milliseconds)
        write(change.before) { $0.write($1) }
        // Usually only the kind of the event is new, and the status does not change.
        write(change.after == change.before)
        if change.after != change.before { write(change.after) { $0.write($1) } }
        write(change.money) { $0.write($1) }
        write(change.product?.rawValue) { $0.write($1) }
        write(change.transaction?.rawValue) { $0.write($1) }
        write(change.ownership?.rawValue) { $0.write($1) }
        write(change.offer) { $0.write($1) }
        write(change.nextProduct?.rawValue) { $0.write($1) }
        write(change.nextPrice) { $0.write($1) }
        write(change.expirationReason?.rawValue) { $0.write($1) }
    }
}

extension ByteWriter {
    fileprivate mutating func write(_ grant: Grant) {
        write(grant.id.rawValue)
        write(grant.entitlement.rawValue)
        write(grant.from.milliseconds)
        write(grant.until?.milliseconds) { $0.write($1) }
        write(grant.reason)
        write(grant.withdrawnAt?.milliseconds) { $0.write($1) }
    }

    fileprivate mutating func write(_ ending: TermEnding) {
        write(ending.chain)
        write(ending.from.milliseconds)
        write(ending.until.milliseconds)
        write(Int64(ending.daysBefore))
    }

    fileprivate mutating func write(_ wallet: WalletChange) {
        write(wallet.currency.rawValue)
        write(wallet.environment.rawValue)
        write(wallet.before)
        write(wallet.after)
        write(wallet.debit?.rawValue) { $0.write($1) }
        write(wallet.reason) { $0.write($1) }
        write(wallet.key) { $0.write($1) }
    }
}

import Ledger

/// A purchase that came to a customer from another, or to be had by both; or of which a person said
/// that it stays with whom it is.
package struct Transfer: Hashable, Sendable {
    /// The number of the event that told of it.
    package var number: Int64
    package var purchase: PurchaseID
    package var kind: Kind
    /// Who had it before; nil where it was nobody's.
    package var former: CustomerID?
    package var customer: CustomerID
    package var evidence: Claim.Evidence
    /// In the words of whoever asked for it; empty where a device did.
    package var reason: String
    package var at: Instant
    package var undoneAt: Instant?
    /// Of the log in which that event stands; nil: the first.
    package var epoch: String?

    /// By which it is named: a number alone may have named another transfer before a restore.
    package var place: LogPlace { LogPlace(epoch, number) }

    /// It went to nobody else: it stayed, or the two have become one since. Nothing can be taken
    /// back.
    package var stays: Bool { former == customer }

    package enum Kind: String, Hashable, Sendable {
        case moved
        case shared
    }
}

/// That nobody may take a purchase from its owner.
package struct PurchaseBlock: Hashable, Sendable {
    /// In the words of whoever asked for it.
    package var reason: String
    package var since: Instant
}

extension StoreTransaction {
    // MARK: - Moving

    /// Makes a purchase, whosever it was, a customer's; both are told, and how to undo it is kept.
    /// Not to be repeated: look whose it is before.
    ///
    /// - Returns: by which it can be undone.
    package func move(
        _ purchase: PurchaseID, to customer: CustomerID, by evidence: Claim.Evidence,
        reason: String = "", in app: AppID, at now: Instant
    ) throws(StorageFailure) -> Transfer {
        let former = try holder(of: purchase, in: app)
        let number = try relink(purchase, to: customer, by: evidence, in: app, at: now)
        return try keepTransfer(
            Transfer(
                number: number, purchase: purchase, kind: .moved, former: former,
                customer: customer, evidence: evidence, reason: reason, at: now),
            in: app)
    }

    /// Takes a transfer back: the purchase is again whose it was, by a person's word. The caller
    /// has seen that it still stands.
    package func undo(
        _ transfer: Transfer, in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        switch transfer.kind {
        case .moved:
            if let former = transfer.former {
                try relink(transfer.purchase, to: former, by: .support, in: app, at: now)
            } else {
                try unlink(transfer.purchase, in: app, at: now)
                try tellNamed(of: transfer.purchase, in: app, .moved, at: now)
            }
        case .shared:
            // Named is who shared it, and not who has it by now: under whose name it can be found.
            try endShare(
                of: transfer.purchase, with: transfer.customer, from: transfer.former, in: app,
                at: now)
        }
        try connection.run(
            "UPDATE transfers SET undone_at_ms = $1 WHERE app = $2 AND transfer = $3",
            [.integer(now.milliseconds), .text(app.rawValue), .integer(transfer.number)])
    }

    /// Returns the number of the event that tells whose it is now: what is told after it, as of
    /// wallets, is not the transfer.
    @discardableResult
    private func relink(
        _ purchase: PurchaseID, to customer: CustomerID, by evidence: Claim.Evidence,
        in app: AppID, at now: Instant
    ) throws(StorageFailure) -> Int64 {
        guard let former = try link(of: purchase, in: app)?.customer else {
            let holder = try holder(of: purchase, in: app)
            let named = holder.flatMap { $0 == customer ? nil : $0 }
            if let named {
                try tellOwner(
                    of: purchase, is: named, in: app, .movedAway, from: customer, at: now)
            } else if holder == nil {
                try tellNamed(of: purchase, in: app, .movedAway, at: now)
            }
            var purses = Purses()
            return try link(
                purchase, to: customer, by: evidence, from: named, in: app, at: now, &purses)
        }
        try forgetShare(in: purchase, of: customer, in: app)
        // It was kept for the former, and not for whoever has it next.
        try unblock(purchase, of: former, in: app, at: now)
        try tellOwner(of: purchase, is: former, in: app, .movedAway, from: customer, at: now)
        let number = try tellOwner(
            of: purchase, is: customer, in: app, .moved, from: former, evidence: evidence, at: now)
        try connection.run(
            "UPDATE links SET customer = $1, evidence = $2, since_ms = $3 "
                + "WHERE app = $4 AND environment = $5 AND purchase = $6",
            [
                .text(customer.rawValue), .text(evidence.rawValue), .integer(now.milliseconds),
            ] + Self.key(of: purchase, in: app))
        try tellWallets(of: purchase, from: former, to: customer, in: app, at: now)
        try wakeQuestions(about: [purchase], in: app, at: now)
        return number
    }

    /// Lets a purchase be a customer's, who has it, by a person's word: no policy moves it any
    /// more. It is told, and the word is kept. Harmless to repeat: what was said before in the same
    /// words is returned.
    package func confirm(
        _ purchase: PurchaseID, of customer: CustomerID, reason: String, in app: AppID,
        at now: Instant
    ) throws(StorageFailure) -> Transfer {
        let evidence = try link(of: purchase, in: app)?.evidence
        let said = try transfers(of: customer, in: app).last {
            $0.purchase == purchase && $0.customer == customer && $0.evidence == .support
                && $0.reason == reason && $0.undoneAt == nil
        }
        if evidence == .support, let said { return said }
        let number: Int64
        if evidence == nil {
            var purses = Purses()
            number = try link(purchase, to: customer, by: .support, in: app, at: now, &purses)
        } else {
            number = try tellOwner(
                of: purchase, is: customer, in: app, .linked, evidence: .support, at: now)
        }
        try connection.run(
            "UPDATE links SET evidence = $1, since_ms = $2 "
                + "WHERE app = $3 AND environment = $4 AND purchase = $5 AND evidence <> $1",
            [.text(Claim.Evidence.support.rawValue), .integer(now.milliseconds)]
                + Self.key(of: purchase, in: app))
        return try keepTransfer(
            Transfer(
                number: number, purchase: purchase, kind: .moved, former: customer,
                customer: customer, evidence: .support, reason: reason, at: now),
            in: app)
    }

    /// For whom a purchase answers: its owner, or the customer whom it names.
    package func holder(
        of purchase: PurchaseID, in app: AppID
    ) throws(StorageFailure) -> CustomerID? {
        try holder(
            link(of: purchase, in: app)?.customer,
            token: timeline(of: purchase, in: app)?.accountToken, in: app)
    }

    /// Makes a purchase nobody's, and tells it to whom it was. Nor has anybody a share in it then.
    package func unlink(
        _ purchase: PurchaseID, in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        if let owner = try link(of: purchase, in: app)?.customer {
            try unblock(purchase, of: owner, in: app, at: now)
            try endShares(of: purchase, in: app, at: now)
        }
        guard let owner = try forgetLink(of: purchase, in: app, at: now) else { return }
        let named = try walletHolder(of: purchase, in: app)
        try tellWallets(of: purchase, from: owner, to: named, in: app, at: now)
    }

    /// The same, but for what it does to wallets. Returns whose it was.
    func forgetLink(
        of purchase: PurchaseID, in app: AppID, at now: Instant
    ) throws(StorageFailure) -> CustomerID? {
        guard let owner = try link(of: purchase, in: app)?.customer else { return nil }
        try tellOwner(of: purchase, is: owner, in: app, .unlinked, at: now)
        try connection.run(
            "DELETE FROM links WHERE app = $1 AND environment = $2 AND purchase = $3",
            Self.key(of: purchase, in: app))
        // Whom it names may have agreed to what the owner had not.
        try wakeQuestions(about: [purchase], in: app, at: now)
        return owner
    }

    // MARK: - Blocks

    /// Lets nobody take a purchase from its owner, which is told. Harmless to repeat.
    package func block(
        _ purchase: PurchaseID, of owner: CustomerID, reason: String, in app: AppID,
        at now: Instant
    ) throws(StorageFailure) {
        guard try block(of: purchase, in: app) == nil else { return }
        try tellOwner(of: purchase, is: owner, in: app, .blocked, at: now)
        try connection.run(
            "INSERT INTO blocks (app, environment, purchase, reason, since_ms) "
                + "VALUES ($1, $2, $3, $4, $5)",
            Self.key(of: purchase, in: app) + [.text(reason), .integer(now.milliseconds)])
    }

    /// Harmless to repeat.
    package func unblock(
        _ purchase: PurchaseID, of owner: CustomerID, in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        guard try block(of: purchase, in: app) != nil else { return }
        try tellOwner(of: purchase, is: owner, in: app, .unblocked, at: now)
        try forgetBlock(of: purchase, in: app)
    }

    func forgetBlock(of purchase: PurchaseID, in app: AppID) throws(StorageFailure) {
        try connection.run(
            "DELETE FROM blocks WHERE app = $1 AND environment = $2 AND purchase = $3",
            Self.key(of: purchase, in: app))
    }

    /// Why nobody may take a purchase, and since when; nil where they may.
    package func block(
        of purchase: PurchaseID, in app: AppID
    ) throws(StorageFailure) -> PurchaseBlock? {
        let rows = try connection.rows(
            "SELECT reason, since_ms FROM blocks "
                + "WHERE app = $1 AND environment = $2 AND purchase = $3",
            Self.key(of: purchase, in: app))
        guard let row = rows.first else { return nil }
        return PurchaseBlock(
            reason: try row.text(0), since: Instant(milliseconds: try row.integer(1)))
    }

    // MARK: - Reading

    /// All that came to a customer or went from them, in its order.
    package func transfers(
        of customer: CustomerID, in app: AppID
    ) throws(StorageFailure) -> [Transfer] {
        var found: [Transfer] = []
        for side in ["customer", "former"] {
            let rows = try connection.rows(
                "SELECT \(Self.transferColumns) FROM transfers WHERE app = $1 AND \(side) = $2",
                [.text(app.rawValue), .text(customer.rawValue)])
            for row in rows { found.append(try Self.transfer(row)) }
        }
        return try withEpochs(Set(found).sorted { $0.number < $1.number }, in: app)
    }

    /// Names the epoch of the log that each belongs to.
    private func withEpochs(
        _ transfers: [Transfer], in app: AppID
    ) throws(StorageFailure) -> [Transfer] {
        guard !transfers.isEmpty else { return [] }
        let epochs = try logEpochs(of: app)
        return transfers.map { transfer in
            var transfer = transfer
            transfer.epoch = epochs.place(of: transfer.number).epoch
            return transfer
        }
    }

    package func transfer(
        _ number: Int64, in app: AppID
    ) throws(StorageFailure) -> Transfer? {
        let rows = try connection.rows(
            "SELECT \(Self.transferColumns) FROM transfers WHERE app = $1 AND transfer = $2",
            [.text(app.rawValue), .integer(number)])
        guard let row = rows.first else { return nil }
        return try withEpochs([Self.transfer(row)], in: app).first
    }

    private static let transferColumns =
        "transfer, environment, purchase, kind, former, customer, evidence, reason, at_ms, "
        + "undone_at_ms"

    private static func transfer(_ row: Row) throws(StorageFailure) -> Transfer {
        guard let kind = Transfer.Kind(rawValue: try row.text(3)),
            let evidence = Claim.Evidence(rawValue: try row.text(6))
        else { throw StorageFailure("a transfer of an unknown kind: use a newer program") }
        return Transfer(
            number: try row.integer(0),
            purchase: PurchaseID(
                TransactionID(rawValue: try row.text(2)), in: try Environment.stored(row.text(1))),
            kind: kind, former: try row.optionalText(4).map(CustomerID.init(rawValue:)),
            customer: CustomerID(rawValue: try row.text(5)), evidence: evidence,
            reason: try row.text(7), at: Instant(milliseconds: try row.integer(8)),
            undoneAt: try row.optionalInteger(9).map(Instant.init(milliseconds:)))
    }

    func keepTransfer(
        _ transfer: Transfer, in app: AppID
    ) throws(StorageFailure) -> Transfer {
        try connection.run(
            "INSERT INTO transfers (app, \(Self.transferColumns)) "
                + "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, NULL)",
            [
                .text(app.rawValue), .integer(transfer.number),
                .text(transfer.purchase.environment.rawValue),
                .text(transfer.purchase.original.rawValue), .text(transfer.kind.rawValue),
                .text(transfer.former?.rawValue), .text(transfer.customer.rawValue),
                .text(transfer.evidence.rawValue), .text(transfer.reason),
                .integer(transfer.at.milliseconds),
            ])
        return try withEpochs([transfer], in: app)[0]
    }
}

import Ledger

// The binary encoding of events before they became JSON: see ``EventDetails``. It is only read.
// Events are primary data that no rebuild can recreate, so every layout that was ever released must
// stay readable. The last reported state of a purchase is still written this way.

private let layout: Int64 = 1
/// The layout of events. Each version appends to the previous one: 2 the manual grant, 3 the term
/// that is about to end, 4 the change of a wallet, 5 the environment of the manual grant.
private let entryLayout: Int64 = 5

extension EventEntry {
    init(
        app: AppID, customer: CustomerID?, environment: String?, purchase: String?, kind: String,
        knownAt: Instant, document: [UInt8]?, body: [UInt8]
    ) throws(StorageFailure) {
        var reader = ByteReader(body)
        let found = try reader.number()
        guard (1...entryLayout).contains(found), let kind = Change.Kind(rawValue: kind) else {
            throw StorageFailure(
                "an event of kind \(kind) has unknown layout \(found): "
                    + "use a newer version of Perennial")
        }
        let isRebuild = try reader.flag()
        let isRequest = try reader.flag()
        let id: PurchaseID? =
            if let environment, let purchase {
                PurchaseID(
                    TransactionID(rawValue: purchase), in: try Environment.stored(environment))
            } else { nil }
        self.init(
            app: app, customer: customer, purchase: id,
            change: Change(kind, at: Instant(milliseconds: 0)), knownAt: knownAt,
            cause: document.map { .document($0) }
                ?? (isRebuild ? .rebuild : isRequest ? .request : .time))
        accountToken = try reader.optionalText()
        other = try reader.optionalText().map(CustomerID.init(rawValue:))
        evidence = try reader.optional { (r) throws(StorageFailure) in try r.named() }
        change = try reader.change(kind)
        if found > 1 { change.grant = try reader.optionalGrant() }
        if found > 2 { change.ending = try reader.optionalEnding() }
        if found > 3 { change.wallet = try reader.optionalWalletChange() }
        if found > 4 {
            change.grantEnvironment = try reader.optionalText().map(Environment.stored)
        }
    }
}

extension ReportedState {
    var stored: [UInt8] {
        var writer = ByteWriter()
        writer.write(layout)
        writer.write(status) { $0.write($1) }
        writer.write(until.milliseconds)
        return writer.bytes
    }

    init(stored bytes: [UInt8]) throws(StorageFailure) {
        var reader = ByteReader(bytes)
        let found = try reader.number()
        guard found == layout else {
            throw StorageFailure(
                "a reported state has unknown layout \(found): use a newer version of Perennial")
        }
        self.init(
            try reader.optionalCondition(), until: Instant(milliseconds: try reader.number()))
    }
}

extension ByteWriter {
    mutating func write(_ condition: PurchaseStatus) {
        write(condition.product.rawValue)
        write(condition.state?.rawValue) { $0.write($1) }
        write(condition.until?.milliseconds) { $0.write($1) }
        write(condition.willRenew) { $0.write($1) }
    }
}

extension ByteReader {
    fileprivate mutating func optionalGrant() throws(StorageFailure) -> Grant? {
        try optional { (r) throws(StorageFailure) in
            Grant(
                id: GrantID(rawValue: try r.text()),
                entitlement: EntitlementID(rawValue: try r.text()),
                from: Instant(milliseconds: try r.number()),
                until: try r.optionalInstant(), reason: try r.text(),
                withdrawnAt: try r.optionalInstant())
        }
    }

    fileprivate mutating func optionalEnding() throws(StorageFailure) -> TermEnding? {
        try optional { (r) throws(StorageFailure) in
            TermEnding(
                chain: try r.text(), from: Instant(milliseconds: try r.number()),
                until: Instant(milliseconds: try r.number()), daysBefore: Int(try r.number()))
        }
    }

    fileprivate mutating func optionalWalletChange() throws(StorageFailure) -> WalletChange? {
        try optional { (r) throws(StorageFailure) in
            WalletChange(
                CurrencyID(rawValue: try r.text()), in: try Environment.stored(try r.text()),
                before: try r.number(), after: try r.number(),
                debit: try r.optionalText().map(BookingID.init(rawValue:)),
                reason: try r.optionalText(), key: try r.optionalText())
        }
    }

    fileprivate mutating func optionalCondition() throws(StorageFailure) -> PurchaseStatus? {
        try optional { (r) throws(StorageFailure) in
            PurchaseStatus(
                product: ProductID(rawValue: try r.text()),
                state: try r.optional { (r) throws(StorageFailure) in try r.named() },
                until: try r.optionalInstant(),
                willRenew: try r.optional { (r) throws(StorageFailure) in try r.flag() })
        }
    }

    fileprivate mutating func change(_ kind: Change.Kind) throws(StorageFailure) -> Change {
        var change = Change(kind, at: Instant(milliseconds: try number()))
        change.before = try optionalCondition()
        change.after = try flag() ? change.before : try optionalCondition()
        change.money = try optionalMoney()
        change.product = try optionalText().map(ProductID.init(rawValue:))
        change.transaction = try optionalText().map(TransactionID.init(rawValue:))
        change.ownership = try optional { (r) throws(StorageFailure) in try r.named() }
        change.offer = try optionalOffer()
        change.nextProduct = try optionalText().map(ProductID.init(rawValue:))
        change.nextPrice = try optionalMoney()
        change.expirationReason = try optional { (r) throws(StorageFailure) in try r.named() }
        return change
    }
}

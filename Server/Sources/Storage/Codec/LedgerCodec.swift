import Ledger

// The binary encoding of Ledger's values. The version of the layout comes first. Only the current
// layouts can be read, because a rebuild recreates all of these values.

private let layout: Int64 = 2
/// The first layout plus evidence from unsigned, older documents. Few purchases need it.
private let legacyLayout: Int64 = 3
/// The legacy layout plus, at the end, the time when a renewal was received whose document contains
/// no date.
private let undatedLayout: Int64 = 4
/// The purchase of the app itself, and nothing else.
private let appLayout: Int64 = 5

extension ByteWriter {
    fileprivate mutating func write(_ instant: Instant) { write(instant.milliseconds) }

    mutating func write(_ money: Money) {
        write(money.milliunits)
        write(money.currency)
    }

    mutating func write(_ offer: Offer) {
        write(offer.kind.rawValue)
        write(offer.id) { $0.write($1) }
    }

    fileprivate mutating func write(_ commitment: Commitment) {
        write(Int64(commitment.month))
        write(Int64(commitment.months))
        write(commitment.until) { $0.write($1) }
        write(commitment.price) { $0.write($1) }
    }

    fileprivate mutating func write(_ payment: Payment) {
        write(payment.transaction.rawValue)
        write(payment.line) { $0.write($1) }
        write(payment.product.rawValue)
        write(payment.kind.rawValue)
        write(payment.from)
        write(payment.until) { $0.write($1) }
        write(payment.terms.rawValue)
        write(payment.offer) { $0.write($1) }
        write(payment.commitment) { $0.write($1) }
        write(Int64(payment.quantity))
        write(payment.price) { $0.write($1) }
        write(payment.ownership.rawValue)
        write(payment.isRenewal)
        write(payment.isUpgraded)
        write(payment.revocation) {
            $0.write($1.at)
            $0.write($1.kind.rawValue)
            $0.write($1.percentage) { $0.write($1) }
        }
        write(payment.accountToken) { $0.write($1) }
        write(payment.group) { $0.write($1) }
        write(payment.storefront) { $0.write($1) }
    }

    fileprivate mutating func write(_ renewal: Renewal) {
        write(renewal.willRenew)
        write(renewal.renewsTo) { $0.write($1.rawValue) }
        write(renewal.isRetrying)
        write(renewal.graceUntil) { $0.write($1) }
        write(renewal.ending) { $0.write($1.rawValue) }
        write(renewal.renewsAt) { $0.write($1) }
        write(renewal.price) { $0.write($1) }
        write(renewal.offer) { $0.write($1) }
        write(renewal.commitmentRenews) { $0.write($1) }
        write(renewal.priceRise) { $0.write($1.rawValue) }
    }
}

extension ByteWriter {
    fileprivate mutating func write(_ app: AppPurchase) {
        write(app.transaction.rawValue)
        write(app.from)
        write(app.version) { $0.write($1) }
        write(app.isOnMac)
    }
}

extension ByteReader {
    fileprivate mutating func appPurchase() throws(StorageFailure) -> AppPurchase {
        AppPurchase(
            transaction: TransactionID(rawValue: try text()), from: try instant(),
            version: try optionalText(), isOnMac: try flag())
    }

    fileprivate mutating func instant() throws(StorageFailure) -> Instant {
        Instant(milliseconds: try number())
    }

    fileprivate mutating func money() throws(StorageFailure) -> Money {
        Money(milliunits: try number(), currency: try text())
    }

    fileprivate mutating func revocation() throws(StorageFailure) -> Revocation {
        Revocation(
            at: try instant(), kind: try named(),
            percentage: try optional { (r) throws(StorageFailure) in try r.number() })
    }

    mutating func optionalText() throws(StorageFailure) -> String? {
        try optional { (r) throws(StorageFailure) in try r.text() }
    }

    mutating func optionalInstant() throws(StorageFailure) -> Instant? {
        try optional { (r) throws(StorageFailure) in try r.instant() }
    }

    mutating func optionalMoney() throws(StorageFailure) -> Money? {
        try optional { (r) throws(StorageFailure) in try r.money() }
    }

    mutating func optionalOffer() throws(StorageFailure) -> Offer? {
        try optional { (r) throws(StorageFailure) in
            Offer(try r.named(), id: try r.optionalText())
        }
    }

    /// Reads a count.
    fileprivate mutating func count() throws(StorageFailure) -> Int {
        let number = try number()
        guard let count = Int(exactly: number) else {
            throw StorageFailure("a stored count is out of range: \(number)")
        }
        return count
    }

    fileprivate mutating func commitment() throws(StorageFailure) -> Commitment {
        Commitment(
            month: try count(), months: try count(), until: try optionalInstant(),
            price: try optionalMoney())
    }

    fileprivate mutating func payment() throws(StorageFailure) -> Payment {
        Payment(
            transaction: TransactionID(rawValue: try text()), line: try optionalText(),
            product: ProductID(rawValue: try text()), kind: try named(), from: try instant(),
            until: try optionalInstant(), terms: try named(), offer: try optionalOffer(),
            commitment: try optional { (r) throws(StorageFailure) in try r.commitment() },
            quantity: try count(), price: try optionalMoney(), ownership: try named(),
            isRenewal: try flag(),
            isUpgraded: try flag(),
            revocation: try optional { (r) throws(StorageFailure) in try r.revocation() },
            accountToken: try optionalText(), group: try optionalText(),
            storefront: try optionalText())
    }

    fileprivate mutating func renewal() throws(StorageFailure) -> Renewal {
        Renewal(
            willRenew: try flag(), renewsTo: try optionalText().map(ProductID.init(rawValue:)),
            isRetrying: try flag(), graceUntil: try optionalInstant(),
            ending: try optional { (r) throws(StorageFailure) in try r.named() },
            renewsAt: try optionalInstant(), price: try optionalMoney(),
            offer: try optionalOffer(),
            commitmentRenews: try optional { (r) throws(StorageFailure) in try r.flag() },
            priceRise: try optional { (r) throws(StorageFailure) in try r.named() })
    }

    /// Reads the layout and checks that it is supported.
    fileprivate mutating func storedLayout() throws(StorageFailure) -> Int64 {
        let found = try number()
        guard (layout...appLayout).contains(found) else {
            throw StorageFailure("a stored value has unknown layout \(found): run a rebuild")
        }
        return found
    }
}

extension Fact {
    /// The encoded statement and grade; the rest has columns of its own.
    var stored: [UInt8] {
        var writer = ByteWriter()
        let receivedAt = undatedReceivedAt
        let older = receivedAt == nil ? legacyLayout : undatedLayout
        let signedOrLegacy = grade == .legacy ? older : layout
        switch statement {
        case .payment(let payment):
            writer.write(signedOrLegacy)
            writer.write(true)
            writer.write(payment)
        case .renewal(let renewal):
            writer.write(signedOrLegacy)
            writer.write(false)
            writer.write(renewal)
        case .appPurchase(let app):
            writer.write(appLayout)
            writer.write(app)
        }
        if let receivedAt { writer.write(receivedAt) }
        return writer.bytes
    }

    private var undatedReceivedAt: Instant? {
        guard grade == .legacy, case .renewal(let renewal) = statement else { return nil }
        return renewal.receivedAt
    }

    init(
        stored bytes: [UInt8], about purchase: PurchaseID, attestedAt: Instant
    ) throws(StorageFailure) {
        var reader = ByteReader(bytes)
        let found = try reader.storedLayout()
        guard found != appLayout else {
            self.init(
                about: purchase, attestedAt: attestedAt, .appPurchase(try reader.appPurchase()))
            return
        }
        let statement: Statement
        if try reader.flag() {
            statement = .payment(try reader.payment())
        } else {
            var renewal = try reader.renewal()
            if found == undatedLayout { renewal.receivedAt = try reader.instant() }
            statement = .renewal(renewal)
        }
        self.init(
            about: purchase, attestedAt: attestedAt, grade: found == layout ? .signed : .legacy,
            statement)
    }
}

extension Fact.Statement {
    /// The subject of the statement within its purchase: a transaction id, or an empty string for
    /// the renewal and for the app itself.
    var subject: String {
        switch self {
        case .payment(let payment): payment.transaction.rawValue
        case .renewal, .appPurchase: ""
        }
    }
}

extension Timeline {
    var stored: [UInt8] {
        var writer = ByteWriter()
        if let appPurchase {
            writer.write(appLayout)
            writer.write(appPurchase.value)
            writer.write(appPurchase.at)
            return writer.bytes
        }
        let hasLegacy = hasLegacy
        let receivedAt = sourcedRenewal?.receivedAt
        let older = receivedAt == nil ? legacyLayout : undatedLayout
        writer.write(hasLegacy ? older : layout)
        writer.write(Int64(periods.count))
        for period in periods {
            if hasLegacy { writer.write(period.sources) { $0.write($1) } }
            writer.write(period.payment)
            writer.write(period.attestedAt)
        }
        if hasLegacy { writer.write(renewalSources) { $0.write($1) } }
        writer.write(renewal) {
            $0.write($1.value)
            $0.write($1.at)
        }
        if let receivedAt { writer.write(receivedAt) }
        return writer.bytes
    }

    private var hasLegacy: Bool {
        renewalSources != .signed || periods.contains { $0.sources != .signed }
    }

    init(stored bytes: [UInt8], of purchase: PurchaseID) throws(StorageFailure) {
        var reader = ByteReader(bytes)
        let found = try reader.storedLayout()
        guard found != appLayout else {
            self.init(
                stored: purchase,
                app: Attested(try reader.appPurchase(), at: try reader.instant()))
            return
        }
        let hasLegacy = found != layout
        var payments: [Sourced<Payment>] = []
        let count = try reader.count()
        guard count >= 0 else { throw StorageFailure("a stored count is \(count): run a rebuild") }
        for _ in 0..<count {
            let sources: Sources<Payment> =
                hasLegacy
                ? try reader.sources { (r) throws(StorageFailure) in try r.payment() } : .signed
            payments.append(
                Timeline.sourced(try reader.payment(), at: try reader.instant(), sources))
        }
        let sources: Sources<Renewal> =
            hasLegacy
            ? try reader.sources { (r) throws(StorageFailure) in try r.renewal() } : .signed
        var renewal = try reader.optional { (r) throws(StorageFailure) in
            Timeline.sourced(try r.renewal(), at: try r.instant(), sources)
        }
        if found == undatedLayout { renewal?.receivedAt = try reader.instant() }
        self.init(stored: purchase, payments: payments, renewal: renewal)
    }
}

// MARK: - Provenance

extension ByteWriter {
    fileprivate mutating func write<Value>(
        _ sources: Timeline.Sources<Value>, _ write: (inout ByteWriter, Value) -> Void
    ) {
        switch sources {
        case .signed: self.write(Int64(0))
        case .legacy: self.write(Int64(1))
        case .both(let signed, let legacy):
            self.write(Int64(2))
            for attested in [signed, legacy] {
                write(&self, attested.value)
                self.write(attested.at)
            }
        }
    }
}

extension ByteReader {
    fileprivate mutating func sources<Value>(
        _ value: (inout ByteReader) throws(StorageFailure) -> Value
    ) throws(StorageFailure) -> Timeline.Sources<Value> {
        switch try number() {
        case 0: return .signed
        case 1: return .legacy
        case 2:
            let signed = Timeline.Attested(try value(&self), at: try instant())
            return .both(
                signed: signed, legacy: Timeline.Attested(try value(&self), at: try instant()))
        case let other: throw StorageFailure("a stored provenance is unknown: \(other)")
        }
    }
}

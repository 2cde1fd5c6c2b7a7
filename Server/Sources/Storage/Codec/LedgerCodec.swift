import Ledger

// The binary encoding of Ledger's values. The version of the layout comes first. Only the current
// layouts can be read, because a rebuild recreates all of these values.

/// The version of the layout of a stored value.
enum Layout {
    static let usual: Int64 = 2
    /// The usual layout plus evidence from unsigned, older documents. Few purchases need this
    /// layout.
    static let legacy: Int64 = 3
    /// The legacy layout, followed by the arrival time of a renewal whose document contains no
    /// date.
    static let undated: Int64 = 4
    /// The purchase of the app itself, and nothing else.
    static let app: Int64 = 5
    /// The undated layout in which each part is optional, with restored transactions and a past
    /// grace period. Few purchases need this layout.
    static let extended: Int64 = 6
    /// The purchase of the app itself, proved for two platforms.
    static let appProofs: Int64 = 7
    /// The extended layout with the seats of each payment. Few purchases need this layout.
    static let seats: Int64 = 8
    /// The layout with seats, and also the seats of the next period. Few purchases need this
    /// layout.
    static let plannedSeats: Int64 = 9
}

extension ByteWriter {
    mutating func write(_ instant: Instant) { write(instant.milliseconds) }

    mutating func write(_ money: Money) {
        write(money.milliunits)
        write(money.currency)
    }

    mutating func write(_ offer: Offer) {
        write(offer.kind.rawValue)
        write(offer.id) { $0.write($1) }
    }

    mutating func write(_ commitment: Commitment) {
        write(Int64(commitment.month))
        write(Int64(commitment.months))
        write(commitment.until) { $0.write($1) }
        write(commitment.price) { $0.write($1) }
    }

    mutating func write(_ payment: Payment) {
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

    mutating func writeRestorable(_ payment: Payment) {
        write(payment)
        write(payment.restoredAt) { $0.write($1) }
    }

    mutating func writeSeated(_ payment: Payment) {
        writeRestorable(payment)
        write(payment.seats) { writer, seats in
            writer.write(Int64(seats.tiers.count))
            for tier in seats.tiers {
                writer.write(tier.price)
                writer.write(Int64(tier.count))
            }
            writer.write(Int64(seats.refunded))
            writer.write(seats.isPart)
            writer.write(seats.invitations) { $0.write($1.rawValue) }
        }
    }

    mutating func write(_ renewal: Renewal) {
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

    mutating func writePlanned(_ renewal: Renewal) {
        write(renewal)
        write(renewal.seats) { $0.write(Int64($1)) }
    }

    mutating func write(_ app: AppPurchase) {
        write(app.transaction.rawValue)
        write(app.from)
        write(app.version) { $0.write($1) }
        write(app.isOnMac)
    }
}

extension ByteReader {
    mutating func appPurchase() throws(StorageFailure) -> AppPurchase {
        AppPurchase(
            transaction: TransactionID(rawValue: try text()), from: try instant(),
            version: try optionalText(), isOnMac: try flag())
    }

    mutating func instant() throws(StorageFailure) -> Instant {
        Instant(milliseconds: try number())
    }

    mutating func money() throws(StorageFailure) -> Money {
        Money(milliunits: try number(), currency: try text())
    }

    mutating func revocation() throws(StorageFailure) -> Revocation {
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
    mutating func count() throws(StorageFailure) -> Int {
        let number = try number()
        guard let count = Int(exactly: number) else {
            throw StorageFailure("a stored count is out of range: \(number)")
        }
        return count
    }

    mutating func commitment() throws(StorageFailure) -> Commitment {
        Commitment(
            month: try count(), months: try count(), until: try optionalInstant(),
            price: try optionalMoney())
    }

    mutating func payment() throws(StorageFailure) -> Payment {
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

    mutating func restorablePayment() throws(StorageFailure) -> Payment {
        var payment = try payment()
        payment.restoredAt = try optionalInstant()
        return payment
    }

    mutating func seatedPayment() throws(StorageFailure) -> Payment {
        var payment = try restorablePayment()
        payment.seats = try optional { (r) throws(StorageFailure) in try r.seats() }
        return payment
    }

    private mutating func seats() throws(StorageFailure) -> Seats {
        var tiers: [Seats.Tier] = []
        for _ in 0..<max(0, try count()) {
            tiers.append(Seats.Tier(price: try number(), count: try count()))
        }
        return Seats(
            tiers: tiers, refunded: try count(), isPart: try flag(),
            invitations: try optional { (r) throws(StorageFailure) in try r.named() })
    }

    mutating func renewal() throws(StorageFailure) -> Renewal {
        Renewal(
            willRenew: try flag(), renewsTo: try optionalText().map(ProductID.init(rawValue:)),
            isRetrying: try flag(), graceUntil: try optionalInstant(),
            ending: try optional { (r) throws(StorageFailure) in try r.named() },
            renewsAt: try optionalInstant(), price: try optionalMoney(),
            offer: try optionalOffer(),
            commitmentRenews: try optional { (r) throws(StorageFailure) in try r.flag() },
            priceRise: try optional { (r) throws(StorageFailure) in try r.named() })
    }

    mutating func plannedRenewal() throws(StorageFailure) -> Renewal {
        var renewal = try renewal()
        renewal.seats = try optional { (r) throws(StorageFailure) in try r.count() }
        return renewal
    }

    /// Reads the layout and checks that it is supported.
    mutating func storedLayout() throws(StorageFailure) -> Int64 {
        let found = try number()
        guard (Layout.usual...Layout.plannedSeats).contains(found) else {
            throw StorageFailure("a stored value has unknown layout \(found): run a rebuild")
        }
        return found
    }
}

extension Fact {
    /// The fact's statement and grade, encoded. The other properties of a fact have separate
    /// columns.
    var stored: [UInt8] {
        var writer = ByteWriter()
        let receivedAt = undatedReceivedAt
        let older = receivedAt == nil ? Layout.legacy : Layout.undated
        let signedOrLegacy = grade == .legacy ? older : Layout.usual
        switch statement {
        case .payment(let payment) where payment.seats != nil:
            writer.write(Layout.seats)
            writer.write(grade == .legacy)
            writer.writeSeated(payment)
        case .payment(let payment) where payment.restoredAt != nil:
            writer.write(Layout.extended)
            writer.write(grade == .legacy)
            writer.writeRestorable(payment)
        case .payment(let payment):
            writer.write(signedOrLegacy)
            writer.write(true)
            writer.write(payment)
        case .renewal(let renewal) where renewal.seats != nil:
            writer.write(Layout.plannedSeats)
            writer.write(grade == .legacy)
            writer.writePlanned(renewal)
            writer.write(receivedAt) { $0.write($1) }
            return writer.bytes
        case .renewal(let renewal):
            writer.write(signedOrLegacy)
            writer.write(false)
            writer.write(renewal)
        case .appPurchase(let app):
            writer.write(Layout.app)
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
        guard found != Layout.app else {
            self.init(
                about: purchase, attestedAt: attestedAt, .appPurchase(try reader.appPurchase()))
            return
        }
        guard found != Layout.plannedSeats else {
            let grade: Grade = try reader.flag() ? .legacy : .signed
            var renewal = try reader.plannedRenewal()
            renewal.receivedAt = try reader.optionalInstant()
            self.init(about: purchase, attestedAt: attestedAt, grade: grade, .renewal(renewal))
            return
        }
        guard found != Layout.extended, found != Layout.seats else {
            let grade: Grade = try reader.flag() ? .legacy : .signed
            let payment =
                found == Layout.seats
                ? try reader.seatedPayment() : try reader.restorablePayment()
            self.init(
                about: purchase, attestedAt: attestedAt, grade: grade, .payment(payment))
            return
        }
        let statement: Statement
        if try reader.flag() {
            statement = .payment(try reader.payment())
        } else {
            var renewal = try reader.renewal()
            if found == Layout.undated { renewal.receivedAt = try reader.instant() }
            statement = .renewal(renewal)
        }
        self.init(
            about: purchase, attestedAt: attestedAt,
            grade: found == Layout.usual ? .signed : .legacy,
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

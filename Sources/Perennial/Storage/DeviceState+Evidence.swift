internal import AccessRules
internal import PerennialContract

/// The maximum numbers of stored values, and the largest time. The files' sizes are also limited.
private enum Limits {
    static let transactions = 500
    static let statuses = 500
    static let verdicts = 500
    static let closedNotes = 200
    static let milliseconds: UInt64 = 10_000 * 366 * 86_400_000
}

extension ByteWriter {
    mutating func write(_ anchor: TimeAnchor) {
        write(anchor.signedAt.milliseconds)
        write(anchor.monotonicMilliseconds)
        write(anchor.bootID)
    }

    mutating func write(_ key: SigningKey) {
        write(key.id)
        write(key.point)
    }

    /// Writes the evidence. If the evidence exceeds the limit, writes the part that was signed
    /// last.
    mutating func write(_ evidence: StoreEvidence) {
        let transactions = evidence.transactions.values.sorted {
            ($0.signedAt, $0.id) < ($1.signedAt, $1.id)
        }
        let statuses = evidence.statuses.values.sorted {
            ($0.signedAt, $0.originalID) < ($1.signedAt, $1.originalID)
        }
        write(transactions.suffix(Limits.transactions)) { $0.write($1) }
        write(statuses.suffix(Limits.statuses)) { $0.write($1) }
        write(evidence.absent.sorted().suffix(Limits.transactions)) { $0.write($1) }
        let missing = evidence.missing.sorted { $0.key < $1.key }
        write(missing.suffix(Limits.transactions)) { writer, purchase in
            writer.write(purchase.key)
            writer.write(purchase.value)
        }
        write(evidence.answeredAt?.milliseconds)
    }

    mutating func write(_ closed: [String: ClosedNote]) {
        write(closed.sorted { $0.key < $1.key }.prefix(Limits.closedNotes)) { writer, note in
            writer.write(note.key)
            writer.write(note.value.state.rawValue)
            writer.write(note.value.until?.milliseconds)
        }
    }

    /// Writes the verdicts. If there are more verdicts than the limit, writes those of the latest
    /// purchases, which have the greatest ids.
    mutating func write(_ verdicts: [String: KeptVerdict]) {
        write(verdicts.sorted { $0.key < $1.key }.suffix(Limits.verdicts)) { writer, verdict in
            writer.write(verdict.key)
            switch verdict.value {
            case .anonymous: writer.write(UInt8(0))
            case .unnamedPerson: writer.write(UInt8(1))
            case .person(let hash):
                writer.write(UInt8(2))
                writer.write(hash)
            }
        }
    }

    private mutating func write(_ transaction: StoreTransaction) {
        write(transaction.id)
        write(transaction.originalID)
        write(transaction.productID)
        write(transaction.kind.rawValue)
        write(transaction.purchasedAt.milliseconds)
        write(transaction.expiresAt?.milliseconds)
        write(transaction.revokedAt?.milliseconds)
        write(transaction.isRevokedByFamily)
        write(transaction.isUpgraded)
        write(transaction.isFamilyShared)
        // Few transactions have a quantity above 1, so a quantity of 1 is not stored.
        write(transaction.quantity == 1 ? nil : Int64(transaction.quantity))
        write(transaction.seats) { writer, seats in
            writer.write(Int64(seats.bought))
            writer.write(Int64(seats.revoked))
        }
        write(transaction.offer.rawValue)
        write(transaction.signedAt.milliseconds)
        write(transaction.isHeld)
        write(transaction.isAcknowledged)
        write(transaction.firstSeenFor)
        let hasDetails = transaction.details != StoreTransaction.Details()
        write(hasDetails ? transaction.details : nil) { $0.write($1) }
    }

    private mutating func write(_ details: StoreTransaction.Details) {
        write(details.offerType.map(Int64.init))
        write(details.offerID)
        write(details.paymentMode)
        write(details.offerPeriod)
        write(details.ownership)
        write(details.bundleProductID)
        write(details.commitment) { writer, commitment in
            writer.write(Int64(commitment.month))
            writer.write(Int64(commitment.months))
            writer.write(commitment.until?.milliseconds)
        }
    }

    private mutating func write(_ status: StoreStatus) {
        write(status.originalID)
        write(status.state.rawValue)
        write(status.willRenew) { $0.write($1) }
        write(status.renewsTo)
        write(status.commitmentRenews) { $0.write($1) }
        write(status.seatsAtRenewal.map(Int64.init))
        write(status.graceUntil?.milliseconds)
        write(status.signedAt.milliseconds)
        write(status.isConfirmed)
        write(status.firstLapse) { $0.write($1) }
    }

    private mutating func write(_ sighting: Sighting) {
        write(sighting.seenAt.milliseconds)
        write(Int64(sighting.launch))
    }
}

extension ByteReader {
    mutating func anchor() throws(Damaged) -> TimeAnchor {
        TimeAnchor(
            signedAt: try timestamp(), monotonicMilliseconds: try positiveNumber(),
            bootID: try text())
    }

    private mutating func positiveNumber() throws(Damaged) -> Int64 {
        let number = try number()
        guard number >= 0 else { throw Damaged() }
        return number
    }

    mutating func key() throws(Damaged) -> SigningKey {
        guard let key = SigningKey(id: try text(), point: try bytes()) else { throw Damaged() }
        return key
    }

    mutating func storeEvidence() throws(Damaged) -> StoreEvidence {
        var evidence = StoreEvidence()
        for transaction in try list({ reader throws(Damaged) in try reader.transaction() }) {
            evidence.transactions[transaction.id] = transaction
        }
        for status in try list({ reader throws(Damaged) in try reader.status() }) {
            evidence.statuses[status.originalID] = status
        }
        evidence.absent = Set(try list { reader throws(Damaged) in try reader.text() })
        let missing = try list { reader throws(Damaged) in
            (try reader.text(), try reader.sighting())
        }
        for (purchase, sighting) in missing { evidence.missing[purchase] = sighting }
        evidence.answeredAt = try optionalTimestamp()
        return evidence
    }

    mutating func closedNotes() throws(Damaged) -> [String: ClosedNote] {
        var closed: [String: ClosedNote] = [:]
        let notes = try list { reader throws(Damaged) in
            let entitlement = try reader.text()
            let state = AccessState(rawValue: try reader.text())
            return (entitlement, ClosedNote(state: state, until: try reader.optionalTimestamp()))
        }
        for (entitlement, note) in notes { closed[entitlement] = note }
        return closed
    }

    mutating func verdicts() throws(Damaged) -> [String: KeptVerdict] {
        var verdicts: [String: KeptVerdict] = [:]
        let all = try list { reader throws(Damaged) in
            (try reader.text(), try reader.verdict())
        }
        for (purchase, verdict) in all { verdicts[purchase] = verdict }
        return verdicts
    }

    private mutating func verdict() throws(Damaged) -> KeptVerdict {
        switch try byte() {
        case 0: .anonymous
        case 1: .unnamedPerson
        case 2: .person(try bytes())
        default: throw Damaged()
        }
    }

    private mutating func transaction() throws(Damaged) -> StoreTransaction {
        StoreTransaction(
            id: try text(), originalID: try text(), productID: try text(), kind: try enumeration(),
            purchasedAt: try timestamp(), expiresAt: try optionalTimestamp(),
            revokedAt: try optionalTimestamp(), isRevokedByFamily: try bool(),
            isUpgraded: try bool(), isFamilyShared: try bool(),
            quantity: try optional { reader throws(Damaged) in try reader.integer() } ?? 1,
            seats: try optionalWithSeats { reader throws(Damaged) in try reader.seats() },
            offer: try enumeration(), signedAt: try timestamp(), isHeld: try bool(),
            isAcknowledged: try bool(), firstSeenFor: try optionalText(),
            details: try optional { reader throws(Damaged) in try reader.details() }
                ?? StoreTransaction.Details())
    }

    /// Reads an optional value about seats. Returns nil for a file of an earlier version, which
    /// does not contain seats.
    private mutating func optionalWithSeats<Value>(
        _ read: (inout ByteReader) throws(Damaged) -> Value
    ) throws(Damaged) -> Value? {
        version < StateFile.versionWithSeats ? nil : try optional(read)
    }

    private mutating func seats() throws(Damaged) -> StoreTransaction.Seats {
        StoreTransaction.Seats(bought: try integer(), revoked: try integer())
    }

    private mutating func details() throws(Damaged) -> StoreTransaction.Details {
        StoreTransaction.Details(
            offerType: try optional { reader throws(Damaged) in try reader.integer() },
            offerID: try optionalText(),
            paymentMode: try optionalText(), offerPeriod: try optionalText(),
            ownership: try optionalText(), bundleProductID: try optionalText(),
            commitment: try optional { reader throws(Damaged) in try reader.commitment() })
    }

    private mutating func commitment() throws(Damaged) -> StoreTransaction.Commitment {
        StoreTransaction.Commitment(
            month: try integer(), months: try integer(), until: try optionalTimestamp())
    }

    private mutating func status() throws(Damaged) -> StoreStatus {
        StoreStatus(
            originalID: try text(), state: try enumeration(),
            willRenew: try optional { reader throws(Damaged) in try reader.bool() },
            renewsTo: try optionalText(),
            commitmentRenews: try optional { reader throws(Damaged) in try reader.bool() },
            seatsAtRenewal: try optionalWithSeats { reader throws(Damaged) in
                try reader.integer()
            },
            graceUntil: try optionalTimestamp(), signedAt: try timestamp(),
            isConfirmed: try bool(),
            firstLapse: try optional { reader throws(Damaged) in try reader.sighting() })
    }

    private mutating func sighting() throws(Damaged) -> Sighting {
        Sighting(seenAt: try timestamp(), launch: try integer())
    }

    private mutating func enumeration<Value: RawRepresentable<String>>() throws(Damaged) -> Value {
        guard let value = Value(rawValue: try text()) else { throw Damaged() }
        return value
    }

    /// Reads a time within ten thousand years, so that adding to it cannot overflow.
    mutating func timestamp() throws(Damaged) -> Timestamp {
        let milliseconds = try number()
        guard milliseconds.magnitude < Limits.milliseconds else { throw Damaged() }
        return Timestamp(milliseconds: milliseconds)
    }

    /// Reads an integer that fits into `Int`, which has 32 bits on some systems.
    private mutating func integer() throws(Damaged) -> Int {
        guard let integer = Int(exactly: try number()) else { throw Damaged() }
        return integer
    }

    mutating func optionalTimestamp() throws(Damaged) -> Timestamp? {
        try optional { reader throws(Damaged) in try reader.timestamp() }
    }
}

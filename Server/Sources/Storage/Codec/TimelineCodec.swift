import Ledger

// The binary encoding of timelines: see `LedgerCodec`.

extension Timeline {
    var stored: [UInt8] {
        var writer = ByteWriter()
        if let appProofs {
            let proofs = appProofs.all
            writer.write(proofs.count == 1 ? Layout.app : Layout.appProofs)
            for proof in proofs {
                writer.write(proof.value)
                writer.write(proof.at)
            }
            return writer.bytes
        }
        let copies = copies
        let seated = seatedLayout(copies)
        let isUsual =
            seated == nil && copies.count == periods.count && !copies.contains(where: \.isOfRestore)
            && (lastGrace == nil || lastGrace == sourcedRenewal?.signedGrace)
        guard isUsual else {
            writer.write(seated ?? Layout.extended)
            writer.write(copies, sourcedRenewal, seated ?? Layout.extended)
            writer.write(lastGrace) {
                $0.write($1.value)
                $0.write($1.at)
            }
            return writer.bytes
        }
        let hasLegacy = hasLegacy
        let receivedAt = sourcedRenewal?.receivedAt
        let older = receivedAt == nil ? Layout.legacy : Layout.undated
        writer.write(hasLegacy ? older : Layout.usual)
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

    /// The layout that can store all seats. Nil if no payment or renewal has seats.
    private func seatedLayout(_ copies: [Copy]) -> Int64? {
        if sourcedRenewal?.hasSeats ?? false { return Layout.plannedSeats }
        return copies.contains(where: \.hasSeats) ? Layout.seats : nil
    }

    private var hasLegacy: Bool {
        renewalSources != .signed || periods.contains { $0.sources != .signed }
    }

    init(stored bytes: [UInt8], of purchase: PurchaseID) throws(StorageFailure) {
        var reader = ByteReader(bytes)
        switch try reader.storedLayout() {
        case Layout.app: self.init(stored: purchase, app: try reader.appProofs(count: 1))
        case Layout.appProofs: self.init(stored: purchase, app: try reader.appProofs(count: 2))
        case let found
        where [Layout.extended, Layout.seats, Layout.plannedSeats].contains(found):
            let count = try reader.copyCount()
            var copies: [Copy] = []
            for _ in 0..<count {
                copies.append(try reader.copy(hasSeats: found != Layout.extended))
            }
            self.init(
                stored: purchase, copies: copies,
                renewal: try reader.undatedRenewal(hasSeats: found == Layout.plannedSeats),
                lastGrace: try reader.optional { (r) throws(StorageFailure) in
                    Attested(try r.instant(), at: try r.instant())
                })
        case let found:
            let hasLegacy = found != Layout.usual
            var copies: [Copy] = []
            for _ in 0..<(try reader.copyCount()) {
                let sources: Sources<Payment> =
                    hasLegacy
                    ? try reader.sources { (r) throws(StorageFailure) in try r.payment() } : .signed
                let payment = try reader.payment()
                copies.append(Copy(Timeline.sourced(payment, at: try reader.instant(), sources)))
            }
            let sources: Sources<Renewal> =
                hasLegacy
                ? try reader.sources { (r) throws(StorageFailure) in try r.renewal() } : .signed
            var renewal = try reader.sourcedRenewal(sources)
            if found == Layout.undated { renewal?.receivedAt = try reader.instant() }
            self.init(
                stored: purchase, copies: copies, renewal: renewal,
                lastGrace: renewal?.signedGrace)
        }
    }
}

extension Timeline.Sourced where Value == Renewal {
    /// Whether the renewal has seats, so that only ``Layout/plannedSeats`` can store it.
    fileprivate var hasSeats: Bool {
        if value.value.seats != nil { return true }
        guard case .both(let signed, let legacy) = sources else { return false }
        return signed.value.seats != nil || legacy.value.seats != nil
    }

    /// The grace period that the latest signed statement names.
    fileprivate var signedGrace: Timeline.Attested<Instant>? {
        let signed: Timeline.Attested<Renewal>
        switch sources {
        case .signed: signed = value
        case .legacy: return nil
        case .both(let statement, _): signed = statement
        }
        return signed.value.graceUntil.map { Timeline.Attested($0, at: signed.at) }
    }
}

// MARK: - Restored purchases and seats

extension Timeline.Copy {
    /// Whether the payment has seats, so that only ``Layout/seats`` and ``Layout/plannedSeats`` can
    /// store it.
    fileprivate var hasSeats: Bool {
        if payment.seats != nil { return true }
        guard case .both(let signed, let legacy) = sourced.sources else { return false }
        return signed.value.seats != nil || legacy.value.seats != nil
    }

    /// Whether the transaction was restored or was revoked before, so that it needs at least
    /// ``Layout/extended``.
    fileprivate var isOfRestore: Bool {
        if wasRevoked || payment.restoredAt != nil { return true }
        guard case .both(let signed, let legacy) = sourced.sources else { return false }
        return signed.value.restoredAt != nil || legacy.value.restoredAt != nil
    }
}

extension ByteWriter {
    fileprivate mutating func write(
        _ copies: [Timeline.Copy], _ renewal: Timeline.Sourced<Renewal>?, _ layout: Int64
    ) {
        func writePayment(_ payment: Payment, to writer: inout ByteWriter) {
            if layout == Layout.extended {
                writer.writeRestorable(payment)
            } else {
                writer.writeSeated(payment)
            }
        }
        func writeRenewal(_ renewal: Renewal, to writer: inout ByteWriter) {
            if layout == Layout.plannedSeats {
                writer.writePlanned(renewal)
            } else {
                writer.write(renewal)
            }
        }
        write(Int64(copies.count))
        for copy in copies {
            write(copy.sourced.sources) { writePayment($1, to: &$0) }
            writePayment(copy.payment, to: &self)
            write(copy.attestedAt)
            write(copy.wasRevoked)
        }
        write(renewal?.sources ?? .signed) { writeRenewal($1, to: &$0) }
        write(renewal?.value) {
            writeRenewal($1.value, to: &$0)
            $0.write($1.at)
        }
        write(renewal?.receivedAt) { $0.write($1) }
    }
}

extension ByteReader {
    fileprivate mutating func copy(hasSeats: Bool) throws(StorageFailure) -> Timeline.Copy {
        func readPayment(_ reader: inout ByteReader) throws(StorageFailure) -> Payment {
            hasSeats ? try reader.seatedPayment() : try reader.restorablePayment()
        }
        let sources = try sources(readPayment)
        let payment = try readPayment(&self)
        let sourced = Timeline.sourced(payment, at: try instant(), sources)
        return Timeline.Copy(sourced, wasRevoked: try flag())
    }

    fileprivate mutating func copyCount() throws(StorageFailure) -> Int {
        let count = try count()
        guard count >= 0 else { throw StorageFailure("a stored count is \(count): run a rebuild") }
        return count
    }

    fileprivate mutating func sourcedRenewal(
        _ sources: Timeline.Sources<Renewal>, hasSeats: Bool = false
    ) throws(StorageFailure) -> Timeline.Sourced<Renewal>? {
        try optional { (r) throws(StorageFailure) in
            let renewal = hasSeats ? try r.plannedRenewal() : try r.renewal()
            return Timeline.sourced(renewal, at: try r.instant(), sources)
        }
    }

    /// Reads a renewal with its sources, and the arrival time of a document about the renewal that
    /// has no date.
    fileprivate mutating func undatedRenewal(
        hasSeats: Bool
    ) throws(StorageFailure) -> Timeline.Sourced<Renewal>? {
        let sources = try sources { (r) throws(StorageFailure) in
            hasSeats ? try r.plannedRenewal() : try r.renewal()
        }
        var renewal = try sourcedRenewal(sources, hasSeats: hasSeats)
        let receivedAt = try optionalInstant()
        if let receivedAt { renewal?.receivedAt = receivedAt }
        return renewal
    }

    fileprivate mutating func appProofs(count: Int) throws(StorageFailure) -> AppProofs {
        var proofs = AppProofs(Timeline.Attested(try appPurchase(), at: try instant()))
        for _ in 1..<count {
            proofs = proofs.adding(
                AppProofs(Timeline.Attested(try appPurchase(), at: try instant())))
        }
        return proofs
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

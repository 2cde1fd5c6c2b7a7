import Ledger

// The binary encoding of the last reported state of a purchase.

private let layout: Int64 = 1

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
    fileprivate mutating func optionalCondition() throws(StorageFailure) -> PurchaseStatus? {
        try optional { (r) throws(StorageFailure) in
            PurchaseStatus(
                product: ProductID(rawValue: try r.text()),
                state: try r.optional { (r) throws(StorageFailure) in try r.named() },
                until: try r.optionalInstant(),
                willRenew: try r.optional { (r) throws(StorageFailure) in try r.flag() })
        }
    }
}

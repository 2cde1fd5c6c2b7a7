internal import PerennialContract

/// All changes of attributes that the server has not acknowledged yet, in the order in which the
/// app made them. There is at most one change for each customer and name: a later change replaces
/// an earlier one.
struct PendingAttributes: Hashable, Sendable {
    private(set) var changes: [PendingAttribute] = []
    /// The last anonymous customer for whom the app set attributes, whether they wait or were sent.
    /// If this customer signs in, the server must merge the two.
    private(set) var anonymousID: String?
    /// The latest time that was sent with a change. It survives the changes themselves, because a
    /// later change needs a later time. Nil if nothing was sent yet.
    private(set) var sentUntil: Timestamp?

    init(changes: [PendingAttribute] = [], anonymousID: String? = nil) {
        self.changes = changes
        self.anonymousID = anonymousID
    }

    var isEmpty: Bool { changes.isEmpty && anonymousID == nil && sentUntil == nil }

    /// - Parameter isAnonymous: whether the customer has not signed in.
    mutating func set(
        _ values: [(name: String, value: String?)], for customer: String?, isAnonymous: Bool,
        at moment: PendingAttribute.Moment
    ) {
        for (name, value) in values {
            add(
                PendingAttribute(
                    customerID: customer, name: name, value: value, setAt: moment,
                    after: sentUntil))
        }
        if isAnonymous, let customer, !values.isEmpty { anonymousID = customer }
    }

    private mutating func add(_ change: PendingAttribute) {
        changes.removeAll { $0.key == change.key }
        changes.append(change)
    }

    /// Gives the changes that were made before the device knew the id of its anonymous customer to
    /// this customer. A later change of the same name stays. If the id is nil, drops the changes.
    mutating func assignUnnamed(to customer: String?) {
        guard changes.contains(where: { $0.customerID == nil }) else { return }
        move(from: nil, to: customer)
        if let customer { anonymousID = customer }
    }

    /// Gives the waiting changes of an anonymous customer to the person with whom the server has
    /// merged this customer. The person's own changes stay.
    mutating func move(from anonymous: String?, to customer: String?) {
        let own = Set(changes.filter { $0.customerID == customer }.map(\.name))
        changes = changes.compactMap { change in
            guard change.customerID == anonymous else { return change }
            guard let customer, !own.contains(change.name) else { return nil }
            var moved = change
            moved.customerID = customer
            return moved
        }
    }

    /// Records that changes are about to be sent. Save this before the request: the server may
    /// store the changes even if no answer arrives.
    mutating func recordSending(
        of batch: [PendingAttribute], asOf now: PendingAttribute.Moment
    ) {
        sentUntil = (batch.map { $0.time(asOf: now) } + [sentUntil].compactMap(\.self)).max()
    }

    /// Records when the server acknowledged changes. The server stores no time ahead of its own
    /// clock, so a later change need not be later than this time. Without this limit, a device
    /// whose clock was once years ahead would date all later changes to those years.
    mutating func recordAnswer(at serverTime: Timestamp) {
        sentUntil = sentUntil.map { min($0, serverTime) }
        for index in changes.indices {
            changes[index].after = changes[index].after.map { min($0, serverTime) }
        }
    }

    /// Removes changes that the server has acknowledged or refused. A change that the app has
    /// replaced meanwhile stays.
    mutating func remove(_ sent: [PendingAttribute]) {
        let sent = Set(sent)
        changes.removeAll { sent.contains($0) }
    }

    /// Removes everything about a customer.
    mutating func forget(_ customer: String) {
        changes.removeAll { $0.customerID == customer }
        if anonymousID == customer { anonymousID = nil }
    }

    /// Whether the app has set attributes for this customer. Only the last anonymous customer is
    /// known after its changes were sent.
    func contains(_ customer: String) -> Bool {
        anonymousID == customer || changes.contains { $0.customerID == customer }
    }
}

// MARK: - Bytes

extension PendingAttributes {
    /// The first version of the file that contains the times that were sent.
    private static let versionWithSentTimes: UInt8 = 2

    var bytes: [UInt8] {
        var writer = ByteWriter()
        writer.write(anonymousID)
        writer.write(sentUntil?.milliseconds)
        writer.write(changes) { writer, change in
            writer.write(change.customerID)
            writer.write(change.name)
            writer.write(change.value)
            writer.write(change.setAt.time.milliseconds)
            writer.write(change.setAt.monotonic)
            writer.write(change.setAt.bootID)
            writer.write(change.after?.milliseconds)
        }
        return writer.bytes
    }

    /// - Parameter version: the version of the file.
    init(_ bytes: [UInt8], version: UInt8) throws(ByteReader.Damaged) {
        var reader = ByteReader(bytes, version: version)
        anonymousID = try reader.optionalText()
        sentUntil = try Self.sentTime(&reader)
        changes = try reader.list { reader throws(ByteReader.Damaged) in
            PendingAttribute(
                customerID: try reader.optionalText(), name: try reader.text(),
                value: try reader.optionalText(),
                setAt: PendingAttribute.Moment(
                    Timestamp(milliseconds: try reader.number()),
                    monotonic: try reader.number(), bootID: try reader.text()),
                after: try Self.sentTime(&reader))
        }
        guard reader.isAtEnd else { throw ByteReader.Damaged() }
    }

    private static func sentTime(
        _ reader: inout ByteReader
    ) throws(ByteReader.Damaged) -> Timestamp? {
        guard reader.version >= versionWithSentTimes else { return nil }
        return try reader.optionalNumber().map { Timestamp(milliseconds: $0) }
    }
}

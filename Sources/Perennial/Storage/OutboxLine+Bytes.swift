internal import PerennialContract

/// A line in the file: a marker, four bytes of length, eight bytes of checksum, then the content.
/// With the marker and the checksum, a reader can find the next line after a damaged line.
extension OutboxLine {
    private static let marker = Array("PRNL\u{1}".utf8)
    private static let checksumBytes = 8
    private static let headBytes = marker.count + 4 + checksumBytes
    private typealias Damaged = ByteReader.Damaged

    /// The number of bytes of ``fileBytes``.
    var fileSize: Int {
        var content = ByteWriter()
        content.write(self)
        return Self.headBytes + content.bytes.count
    }

    var fileBytes: [UInt8] {
        var content = ByteWriter()
        content.write(self)
        var length = ByteWriter()
        length.write(count: content.bytes.count)
        let checksum = Cryptography.sha256(length.bytes + content.bytes).prefix(Self.checksumBytes)
        return Self.marker + length.bytes + checksum + content.bytes
    }

    /// All complete lines of a file, without damaged lines and without lines that a crash has
    /// truncated.
    ///
    /// - Returns: the lines, and whether the file contained nothing else.
    static func lines(in file: [UInt8]) -> (lines: [OutboxLine], isClean: Bool) {
        var lines: [OutboxLine] = []
        var isClean = true
        var position = 0
        while position < file.count {
            if let (line, end) = line(in: file, at: position) {
                lines.append(line)
                position = end
            } else {
                isClean = false
                position += 1
            }
        }
        return (lines, isClean)
    }

    private static func line(in file: [UInt8], at start: Int) -> (OutboxLine, end: Int)? {
        guard file[start] == marker[0], file.count - start >= headBytes,
            file[start...].starts(with: marker)
        else { return nil }
        var head = ByteReader(file[start + marker.count..<start + headBytes])
        guard let length = try? head.count(), let checksum = try? head.next(checksumBytes),
            length <= file.count - start - headBytes
        else { return nil }
        let end = start + headBytes + length
        let content = file[start + headBytes..<end]
        let lengthBytes = file[start + marker.count..<start + marker.count + 4]
        guard Cryptography.sha256(lengthBytes + content).starts(with: checksum) else { return nil }
        var reader = ByteReader(content)
        guard let line = try? reader.line(), reader.isAtEnd else { return nil }
        return (line, end)
    }
}

extension ByteWriter {
    fileprivate mutating func write(_ line: OutboxLine) {
        switch line {
        case .added(let entry):
            write(UInt8(1))
            write(entry)
        case .tried(let id, let attempts, let nextTry, let state):
            write(UInt8(2))
            write(id)
            write(count: attempts)
            write(nextTry?.milliseconds)
            write(state)
        case .done(let id):
            write(UInt8(3))
            write(id)
        }
    }

    private mutating func write(_ entry: OutboxEntry) {
        write(entry.customerID)
        write(entry.firstSeen.milliseconds)
        write(count: entry.attempts)
        write(entry.nextTry?.milliseconds)
        write(entry.state)
        switch entry.content {
        case .document(let document):
            write(UInt8(1))
            write(document)
        case .debit(let debit):
            write(UInt8(2))
            write(debit)
        case .alias(let alias):
            write(UInt8(3))
            write(alias)
        }
    }

    private mutating func write(_ document: OutboxEntry.Document) {
        write(document.kind.rawValue)
        write(document.text)
        write(document.intent.rawValue)
        write(document.transactionID)
        write(document.productID)
        write(document.placement)
    }

    private mutating func write(_ debit: OutboxEntry.Debit) {
        write(debit.wallet)
        write(debit.amount)
        write(debit.reason)
        write(debit.key)
    }

    private mutating func write(_ state: OutboxEntry.State) {
        switch state {
        case .waiting: write(String?.none)
        case .setApart(let code): write(String?.some(code))
        }
    }
}

extension ByteReader {
    fileprivate mutating func line() throws(Damaged) -> OutboxLine {
        switch try byte() {
        case 1: .added(try entry())
        case 2:
            .tried(
                id: try text(), attempts: try count(), nextTry: try optionalTimestamp(),
                state: try state())
        case 3: .done(id: try text())
        default: throw Damaged()
        }
    }

    private mutating func entry() throws(Damaged) -> OutboxEntry {
        let customerID = try text()
        let firstSeen = try timestamp()
        let attempts = try count()
        let nextTry = try optionalTimestamp()
        let state = try state()
        var entry = OutboxEntry(try content(), for: customerID, firstSeen: firstSeen)
        entry.attempts = attempts
        entry.nextTry = nextTry
        entry.state = state
        return entry
    }

    private mutating func content() throws(Damaged) -> OutboxEntry.Content {
        switch try byte() {
        case 1: .document(try document())
        case 2:
            .debit(
                OutboxEntry.Debit(
                    wallet: try text(), amount: try number(), reason: try text(), key: try text()))
        case 3: .alias(try text())
        default: throw Damaged()
        }
    }

    private mutating func document() throws(Damaged) -> OutboxEntry.Document {
        guard let kind = OutboxEntry.Document.Kind(rawValue: try text()) else { throw Damaged() }
        return OutboxEntry.Document(
            kind: kind, text: try text(),
            intent: PerennialContract.PurchaseIntent(rawValue: try text()),
            transactionID: try optionalText(), productID: try optionalText(),
            // Lines of earlier versions end here.
            placement: isAtEnd ? nil : try optionalText())
    }

    private mutating func state() throws(Damaged) -> OutboxEntry.State {
        try optionalText().map { .setApart(code: $0) } ?? .waiting
    }
}

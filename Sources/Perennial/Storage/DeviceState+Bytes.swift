internal import AccessRules
internal import PerennialContract

extension DeviceState {
    /// The parts of the state that may move to the second file, in the order in which they move.
    enum Part: CaseIterable {
        case storeEvidence, notes, introductions, token
    }

    /// The maximum number of stored keys of a ring that is not pinned.
    private static let keysMax = 16
    private typealias Damaged = ByteReader.Damaged

    func content(identity: [UInt8], without moved: Set<Part>) -> [UInt8] {
        var writer = ByteWriter()
        writer.write(identity)
        writer.write(customerID)
        writer.write(isAnonymous)
        writer.write(accountToken)
        writer.write(environment?.rawValue)
        writer.write(app)
        writer.write(salt)
        writer.write(anchor) { $0.write($1) }
        writer.write(keptKeys) { $0.write($1) }
        writer.write(!moved.isEmpty)
        write(Set(Part.allCases).subtracting(moved), to: &writer)
        return writer.bytes
    }

    static func read(
        _ reader: inout ByteReader, identity: [UInt8], pinned: [SigningKey]
    ) throws(ByteReader.Damaged) -> (DeviceState, hasMore: Bool) {
        guard try reader.bytes() == identity else { throw Damaged() }
        var state = DeviceState(keys: KeyRing(pinned: pinned))
        state.customerID = try reader.optionalText()
        state.isAnonymous = try reader.bool()
        state.accountToken = try reader.optionalText()
        state.environment = try reader.optionalText().map(StoreEnvironment.init(rawValue:))
        state.app = try reader.optionalText()
        state.salt = try reader.bytes()
        state.anchor = try reader.optional { reader throws(Damaged) in try reader.anchor() }
        let keys = try reader.list { reader throws(Damaged) in try reader.key() }
        if pinned.isEmpty { state.keys = KeyRing(firstSeen: keys) }
        let hasMore = try reader.bool()
        try state.readParts(&reader)
        return (state, hasMore)
    }

    /// The content of the second file. The content names its customer, so that it counts for no
    /// other customer.
    func moreContent(identity: [UInt8], parts: Set<Part>) -> [UInt8] {
        var writer = ByteWriter()
        writer.write(identity)
        writer.write(customerID)
        writer.write(environment?.rawValue)
        write(parts, to: &writer)
        return writer.bytes
    }

    func adding(
        _ more: SealedContent, identity: [UInt8]
    ) throws(ByteReader.Damaged) -> DeviceState {
        var reader = ByteReader(more.bytes, version: more.version)
        var state = self
        guard try reader.bytes() == identity, try reader.optionalText() == customerID,
            try reader.optionalText() == environment?.rawValue
        else { throw Damaged() }
        try state.readParts(&reader)
        guard reader.isAtEnd else { throw Damaged() }
        state.storeEvidence.isTrusted = true
        return state
    }

    /// The keys to store: the key that signed the token, and the newest keys. Pinned keys are not
    /// stored, because the app contains them.
    private var keptKeys: [SigningKey] {
        guard !keys.isPinned else { return [] }
        let own = token.flatMap { CompactJWS($0) }.flatMap { keys[$0.keyID] }
        let newest = keys.keys.filter { $0.id != own?.id }.suffix(Self.keysMax - 1)
        return (own.map { [$0] } ?? []) + newest
    }

    private func write(_ parts: Set<Part>, to writer: inout ByteWriter) {
        for part in Part.allCases {
            writer.write(parts.contains(part))
            guard parts.contains(part) else { continue }
            switch part {
            case .storeEvidence: writer.write(storeEvidence)
            case .notes:
                writer.write(closed)
                writer.write(verdicts)
            case .introductions:
                writer.write(keys.isPinned ? keys.introductions : []) { $0.write($1) }
            case .token: writer.write(token)
            }
        }
    }

    private mutating func readParts(_ reader: inout ByteReader) throws(ByteReader.Damaged) {
        for part in Part.allCases where try reader.bool() {
            switch part {
            case .storeEvidence: storeEvidence = try reader.storeEvidence()
            case .notes:
                closed = try reader.closedNotes()
                verdicts = try reader.verdicts()
            case .introductions:
                let chain = try reader.list { reader throws(Damaged) in try reader.text() }
                // A trusted key has signed each introduction, so introductions need no other proof.
                if keys.isPinned { keys.follow(chain, app: app) }
            case .token: token = try reader.optionalText()
            }
        }
    }
}

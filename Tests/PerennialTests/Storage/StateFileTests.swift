import AccessRules
import Foundation
import Testing

@testable import Perennial
@testable import PerennialContract

struct StateFileTests {
    private let folder: TemporaryFolder
    private let file: StateFile
    private let signer = TestSigner("first")
    /// A token, made once, because two signatures of the same text differ.
    private let token: String
    private let code = MessageCode(key: [UInt8](repeating: 7, count: 32))!

    init() throws {
        folder = try TemporaryFolder()
        token = signer.token()
        file = StateFile(folder: folder.device, bundleID: "com.example.birds")
    }

    private var pinned: [SigningKey] { [signer.signingKey] }

    private func transaction(_ number: Int) -> StoreTransaction {
        StoreTransaction(
            id: "20000000000\(number)", originalID: "2000000000001", productID: "pro.monthly",
            kind: .renewing, purchasedAt: Timestamp(milliseconds: 1_798_000_000_000),
            expiresAt: Timestamp(milliseconds: 1_800_000_000_000), quantity: 1 + number % 3,
            seats: number % 3 == 0 ? nil : .init(bought: 1 + number % 3, revoked: number % 2),
            offer: .trial,
            signedAt: Timestamp(milliseconds: 1_798_000_000_000 + Int64(number)),
            isAcknowledged: true, firstSeenFor: "anna",
            details: number == 1
                ? .init(
                    offerType: 3, offerID: "spring", paymentMode: "FREE_TRIAL",
                    offerPeriod: "P1M", ownership: "ASSIGNED", bundleProductID: "all",
                    commitment: .init(
                        month: 3, months: 12, until: Timestamp(milliseconds: 10)))
                : .init())
    }

    private func state(transactions: Int = 3, pinned: Bool = true) -> DeviceState {
        var state = DeviceState(
            keys: pinned ? KeyRing(pinned: self.pinned) : KeyRing(firstSeen: self.pinned))
        state.customerID = "anna"
        state.isAnonymous = false
        state.accountToken = "6f1c2d3e-0000-4000-8000-000000000001"
        state.token = token
        state.closed = [
            "season": ClosedNote(state: .expired, until: Timestamp(milliseconds: 5)),
            "gift": ClosedNote(state: .revoked, until: nil),
        ]
        state.environment = .production
        state.app = "birds"
        state.anchor = TimeAnchor(
            signedAt: Timestamp(milliseconds: 1_798_000_000_123), monotonicMilliseconds: 42,
            bootID: "boot")
        state.salt = [1, 2, 3]
        state.verdicts = [
            "1": .anonymous, "2": .unnamedPerson, "3": .person("ben", salt: [1, 2, 3]),
        ]
        for number in 0..<transactions {
            state.storeEvidence.transactions[transaction(number).id] = transaction(number)
        }
        state.storeEvidence.statuses = [
            "2000000000001": StoreStatus(
                originalID: "2000000000001", state: .grace, willRenew: false,
                renewsTo: "pro.yearly", commitmentRenews: true, seatsAtRenewal: 4,
                graceUntil: Timestamp(milliseconds: 9), signedAt: Timestamp(milliseconds: 8),
                isConfirmed: true),
            "2000000000009": StoreStatus(
                originalID: "2000000000009", state: .expired, willRenew: nil,
                signedAt: Timestamp(milliseconds: 8), isConfirmed: false,
                firstLapse: Sighting(seenAt: Timestamp(milliseconds: 11), launch: 77)),
        ]
        state.storeEvidence.absent = ["4"]
        state.storeEvidence.missing = [
            "5": Sighting(seenAt: Timestamp(milliseconds: 12), launch: 78)
        ]
        state.storeEvidence.answeredAt = Timestamp(milliseconds: 7)
        return state
    }

    private func read(_ pinned: [SigningKey]? = nil, customer: String? = nil) -> StoredState? {
        guard case .found(let stored) = file.read(pinned: pinned ?? self.pinned, customer: customer)
        else { return nil }
        return stored
    }

    private var isAbsent: Bool {
        if case .absent = file.read(pinned: pinned) { true } else { false }
    }

    @Test func `a written state file is read back`() throws {
        #expect(isAbsent)
        var state = state()
        try file.write(state, code: code)
        let stored = try #require(read())
        #expect(stored.state == state)
        #expect(!stored.hasMore)
        state.storeEvidence.isTrusted = true
        #expect(stored.proven(by: code) == state)
        #expect(try folder.bytes(file.path).count <= StateFile.bytesMax)
        #expect(!FileManager.default.fileExists(atPath: file.morePath))
    }

    @Test func `a state file with any flipped bit is refused`() throws {
        try file.write(state(), code: code)
        let bytes = try folder.bytes(file.path)
        for index in bytes.indices {
            for bit in 0..<8 {
                var flipped = bytes
                flipped[index] ^= 1 << UInt8(bit)
                let content = SealedContent(file: flipped, version: StateFile.version)
                #expect(content == nil, "bit \(bit) of byte \(index)")
            }
        }
    }

    @Test(arguments: [Int64.max, .min, 400_000_000_000_000])
    func `a state file with an impossible time is refused`(time: Int64) throws {
        var state = state()
        state.anchor?.signedAt = Timestamp(milliseconds: time)
        try file.write(state, code: code)
        #expect(read() == nil)
        state = self.state()
        state.anchor?.monotonicMilliseconds = .min
        try file.write(state, code: code)
        #expect(read() == nil)
    }

    @Test func `a state file that is truncated, empty, or too large counts as absent`() throws {
        try file.write(state(), code: code)
        let bytes = try folder.bytes(file.path)
        for count in 0..<bytes.count {
            try folder.write(Array(bytes.prefix(count)), to: file.path)
            #expect(read() == nil, "\(count) bytes")
        }
        try folder.write(bytes + [0], to: file.path)
        #expect(read() == nil)
        try folder.write([UInt8](repeating: 0, count: 1_000_000), to: file.path)
        #expect(read() == nil)
        try folder.write(bytes, to: file.path)
        #expect(read() != nil)
    }

    /// Anybody who can edit the file can also compute its checksum.
    @Test func `an edited state file with the right checksum is never proven`() throws {
        try file.write(state(), code: code)
        let written = try #require(
            SealedContent(file: try folder.bytes(file.path), version: StateFile.version))
        for index in written.bytes.indices {
            var edited = written.bytes
            edited[index] ^= [1, 0x80, 0xFF][index % 3]
            var writer = ByteWriter()
            writer.write(edited)
            writer.write(code.code(of: written.bytes))
            let forged = try #require(
                SealedContent(
                    file: rewritten(writer.bytes), version: StateFile.version))
            #expect(forged.bytes == edited)
            let stored = try? StoredState(
                forged, identity: identity(of: written), pinned: pinned)
            #expect(stored?.proven(by: code) == nil, "byte \(index)")
            #expect(stored?.state.storeEvidence.isTrusted != true)
        }
    }

    private func rewritten(_ content: [UInt8]) -> [UInt8] {
        let head = Array("PRNL".utf8) + [StateFile.version]
        return head + Cryptography.sha256(head + content).prefix(8) + content
    }

    private func identity(of content: SealedContent) throws -> [UInt8] {
        var reader = ByteReader(content.bytes)
        return try reader.bytes()
    }

    @Test func `a state file without a seal, or with another device's seal, is not proven`() throws
    {
        try file.write(state(), code: nil)
        #expect(read()?.proven(by: code) == nil)
        #expect(read()?.state.token == token)
        try file.write(state(), code: MessageCode(key: [UInt8](repeating: 8, count: 32)))
        #expect(read()?.proven(by: code) == nil)
    }

    @Test func `a forged clock anchor does not set the time back, but a sealed anchor does`() throws
    {
        let (device, foreign) = (StillClock(), MessageCode(key: [UInt8](repeating: 8, count: 32)))
        let yearAgo = Timestamp(milliseconds: device.now().milliseconds - 365 * 86_400_000)
        var configuration = Perennial.Configuration(
            server: URL(string: "https://iap.example.com")!, key: "pk_birds")
        configuration.customer = "anna"
        var state = state()
        state.anchor = TimeAnchor(
            signedAt: yearAgo, monotonicMilliseconds: device.monotonic(), bootID: device.bootID())
        for (seal, wanted) in [(foreign, device.now()), (code, yearAgo)] {
            try file.write(state, code: seal)
            let stored = try #require(read())
            var state = EngineState(launching: configuration, stored, clock: device)
            #expect(state.clock.now(by: device) == device.now(), "nothing is proven yet")
            let isProven = state.prove(stored, by: code, in: file, named: "anna", device: device)
            #expect(isProven == (wanted == yearAgo))
            #expect(state.clock.now(by: device) == wanted)
        }
    }

    @Test func `keys that are not pinned count only after the seal is verified`() throws {
        try file.write(state(pinned: false), code: code)
        let stored = try #require(read([]))
        #expect(stored.state.keys.keys == [])
        #expect(stored.keysAsWritten.keys == pinned)
        #expect(stored.proven(by: code)?.keys.keys == pinned)
        // An app that pins its keys takes none from the file.
        let other = TestSigner("other").signingKey
        #expect(read([other])?.proven(by: code)?.keys.keys == [other])
    }

    @Test func `the introductions of keys in a state file are verified again by the pinned key`()
        throws
    {
        let second = TestSigner("second")
        var state = state()
        state.keys.follow([signer.introduction(of: second)], app: "birds")
        try file.write(state, code: code)
        #expect(read()?.state.keys.keys.map(\.id) == ["first", "second"])
        #expect(read([TestSigner("first").signingKey])?.state.keys.keys.count == 1)
    }

    @Test func `a state file of another server, key or app counts as absent`() throws {
        try file.write(state(), code: code)
        let bytes = try folder.bytes(file.path)
        for (server, key, bundleID) in [
            ("https://iap.example.org", "pk_birds", "com.example.birds"),
            ("https://iap.example.com", "pk_cats", "com.example.birds"),
            ("https://iap.example.com", "pk_birds", "com.example.cats"),
        ] {
            let foreign = try TemporaryFolder(server: server, key: key)
            let file = StateFile(folder: foreign.device, bundleID: bundleID)
            try foreign.write(bytes, to: file.path)
            guard case .foreign = file.read(pinned: pinned) else {
                Issue.record("\(server) \(key) \(bundleID)")
                continue
            }
        }
    }

    @Test func `from another customer's state file, only the values of the device are returned`()
        throws
    {
        try file.write(state(), code: code)
        #expect(read(customer: "anna")?.state == state())
        let stored = try #require(read(customer: "ben")?.proven(by: code))
        #expect(stored.customerID == nil)
        #expect(stored.token == nil)
        #expect(stored.accountToken == nil)
        #expect(stored.closed == [:])
        #expect(stored.storeEvidence.transactions == [:])
        #expect(stored.storeEvidence.statuses == [:])
        // A purchase that was first seen for anna, without a verdict, stays with anna.
        let hers = KeptVerdict.person("anna", salt: state().salt)
        #expect(
            stored.verdicts == state().verdicts.merging(["2000000000001": hers]) { old, _ in old })
        #expect(stored.anchor == state().anchor)
    }

    @Test func `a file of an unknown version counts as absent, and a newer file is not changed`()
        throws
    {
        try file.write(state(), code: code)
        var bytes = try folder.bytes(file.path)
        bytes[4] = StateFile.version + 1
        try folder.write(bytes, to: file.path)
        #expect(read() == nil)

        let newer = folder.device.path("state-\(StateFile.version + 1)")
        try folder.write([1, 2, 3], to: newer)
        try file.write(state(), code: code)
        try file.delete()
        #expect(try folder.bytes(newer) == [1, 2, 3])
        #expect(isAbsent)
    }

    @Test func `an unreadable file is distinguished from an absent one`() throws {
        // A folder is in place of the file, because even the superuser cannot read a folder as a
        // file.
        try FileManager.default.createDirectory(
            atPath: file.path, withIntermediateDirectories: false)
        guard case .unreadable = file.read(pinned: pinned) else {
            Issue.record("It should be unreadable.")
            return
        }
    }

    @Test func `if entries do not fit into the first state file, they move to the second file`()
        throws
    {
        var state = state(transactions: 300)
        try file.write(state, code: code)
        #expect(try folder.bytes(file.path).count <= StateFile.bytesMax)
        let stored = try #require(read())
        #expect(stored.hasMore)
        #expect(stored.state.token == state.token)
        #expect(stored.state.storeEvidence.transactions == [:])
        let proven = try #require(stored.proven(by: code))
        state.storeEvidence.isTrusted = true
        #expect(try file.readMore(proven, code: code) == state)

        var other = proven
        other.customerID = "ben"
        #expect(try file.readMore(other, code: code) == nil)
        let bytes = try folder.bytes(file.morePath)
        for index in stride(from: 0, to: bytes.count, by: 97) {
            var damaged = bytes
            damaged[index] ^= 1
            try folder.write(damaged, to: file.morePath)
            #expect(try file.readMore(proven, code: code) == nil, "byte \(index)")
        }

        try file.write(self.state(), code: code)
        #expect(!FileManager.default.fileExists(atPath: file.morePath))
    }

    @Test func `a device state that reaches all limits can be written`() throws {
        var state = state(transactions: 600)
        var signers = [signer]
        for number in 0..<30 {
            signers.append(TestSigner("key\(number)"))
            state.keys.follow([signers[number].introduction(of: signers[number + 1])], app: "birds")
        }
        for number in 0..<600 {
            state.closed["right\(number)"] = ClosedNote(state: .expired, until: nil)
            state.verdicts["\(number)"] = .person("ben", salt: state.salt)
        }
        try file.write(state, code: code)
        #expect(read()?.hasMore == true)
        let proven = try #require(read()?.proven(by: code))
        let whole = try #require(try file.readMore(proven, code: code))
        #expect(whole.keys == state.keys)
        #expect(whole.storeEvidence.transactions.count == 500)
        #expect(whole.storeEvidence.transactions[transaction(599).id] != nil)
        #expect(whole.token == state.token)
    }

    @Test func `a stored verdict is valid only for its customer and with the same salt`() {
        let verdict = KeptVerdict.person("anna", salt: [1])
        #expect(verdict.verdict(for: "anna", salt: [1]) == .theirs)
        #expect(verdict.verdict(for: "ben", salt: [1]) == .anotherPerson)
        #expect(verdict.verdict(for: nil, salt: [1]) == .anotherPerson)
        #expect(verdict.verdict(for: "anna", salt: [2]) == .anotherPerson)
        #expect(KeptVerdict.unnamedPerson.verdict(for: "anna", salt: [1]) == .anotherPerson)
        #expect(KeptVerdict.anonymous.verdict(for: "anna", salt: [1]) == .anonymous)
    }
}

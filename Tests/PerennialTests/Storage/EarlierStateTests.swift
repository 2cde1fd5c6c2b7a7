import AccessRules
import Foundation
import Testing

@testable import Perennial
@testable import PerennialContract

/// Files of the previous version: `Tables/EarlierState`. The files were written manually, in that
/// version's layout.
@Suite struct EarlierStateTests {
    private let folder: TemporaryFolder
    private let file: StateFile
    private let pinned = [TestSigner("first").signingKey]
    private let code = MessageCode(key: [UInt8](repeating: 7, count: 32))!

    init() throws {
        folder = try TemporaryFolder()
        file = StateFile(folder: folder.device, bundleID: "com.example.birds")
    }

    private func put(_ table: String, as name: String) throws {
        let url = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("Tables/EarlierState/\(table).hex")
        let digits = try String(contentsOf: url, encoding: .utf8).filter { !$0.isNewline }
        let pairs = stride(from: 0, to: digits.count, by: 2).map { digits.dropFirst($0).prefix(2) }
        try folder.write(
            pairs.map { try #require(UInt8($0, radix: 16)) }, to: folder.device.path(name))
    }

    private func read(customer: String? = nil) -> StoredState? {
        guard case .found(let stored) = file.read(pinned: pinned, customer: customer) else {
            return nil
        }
        return stored
    }

    private func exists(_ name: String) -> Bool {
        FileManager.default.fileExists(atPath: folder.device.path(name))
    }

    private func check(_ state: DeviceState, _ location: SourceLocation = #_sourceLocation) {
        #expect(state.customerID == "anna" && !state.isAnonymous, sourceLocation: location)
        #expect(state.anchor?.bootID == "boot", sourceLocation: location)
        #expect(state.closed["season"]?.state == .expired, sourceLocation: location)
        #expect(state.verdicts == ["1": .anonymous], sourceLocation: location)
        #expect(
            state.storeEvidence.transactions.keys.sorted() == ["200", "300"],
            sourceLocation: location)
        let plan = state.storeEvidence.transactions["200"]
        #expect(plan?.quantity == 5 && plan?.seats == nil, sourceLocation: location)
        #expect(plan?.details.ownership == "ASSIGNED", sourceLocation: location)
        #expect(plan?.firstSeenFor == "anna" && plan?.isAcknowledged == true)
        let status = state.storeEvidence.statuses["100"]
        #expect(status?.renewsTo == "pro.yearly" && status?.seatsAtRenewal == nil)
        #expect(state.storeEvidence.statuses["900"]?.firstLapse?.launch == 77)
        #expect(
            state.storeEvidence.absent == ["4"] && state.storeEvidence.missing["5"]?.launch == 78)
        #expect(
            state.storeEvidence.answeredAt == Timestamp(milliseconds: 7), sourceLocation: location)
    }

    @Test func `a file of the previous version is read, and the next write replaces it`() throws {
        try put("state-4", as: "state-4")
        let stored = try #require(read())
        #expect(stored.version == 4 && !stored.hasMore)
        #expect(!stored.state.storeEvidence.isTrusted)
        let proven = try #require(stored.proven(by: code))
        check(proven)
        try file.write(proven, code: code)
        #expect(exists("state-5") && !exists("state-4"))
        #expect(read()?.version == 5)
        check(try #require(read()?.proven(by: code)))
    }

    @Test func `two state files of the previous version are read, and deleted by the next write`()
        throws
    {
        try put("state-4-first", as: "state-4")
        try put("words-4", as: "words-4")
        let stored = try #require(read())
        #expect(stored.hasMore && stored.state.storeEvidence.transactions.isEmpty)
        let proven = try #require(stored.proven(by: code))
        let whole = try #require(try file.readMore(proven, of: stored.version, code: code))
        check(whole)
        try file.write(whole, code: code)
        #expect(!exists("state-4") && !exists("words-4"))
    }

    @Test func `a state file of the previous version with another device's seal is not proven`()
        throws
    {
        try put("state-4", as: "state-4")
        let other = try #require(MessageCode(key: [UInt8](repeating: 8, count: 32)))
        #expect(read()?.proven(by: other) == nil)
        #expect(read(customer: "ben")?.state.customerID == nil)
    }

    @Test func `a state file of the present version takes precedence, even if it is damaged`()
        throws
    {
        try put("state-4", as: "state-4")
        try put("state-4", as: "state-5")
        #expect(read() == nil, "The layout of version 4 under the name of version 5.")
        try file.delete()
        #expect(!exists("state-4") && !exists("state-5"))
        // A crash between the two writes leaves the files in this state.
        var state = DeviceState(keys: KeyRing(pinned: pinned))
        state.customerID = "ben"
        try file.write(state, code: code)
        try put("state-4", as: "state-4")
        #expect(read()?.state.customerID == "ben")
    }
}

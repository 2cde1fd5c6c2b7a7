import Testing

@testable import Perennial

/// Tests all transitions of ``StoreReader``.
@Suite struct StoreReaderTests {
    private static func document(_ text: String) -> StoreDocument {
        StoreDocument(jws: text, isVerified: true)
    }

    /// A reader in a state, with one announcement that is not recorded.
    private func reader(in state: StoreReader.State) -> StoreReader {
        var reader = StoreReader()
        switch state {
        case .idle: break
        case .due: _ = reader.start()
        case .recording:
            _ = reader.start()
            _ = reader.next()
        }
        reader.announce(Self.document("a"))
        return reader
    }

    private static let starts: [(StoreReader.State, Bool)] = [
        (.idle, true), (.due, false), (.recording, false),
    ]

    @Test(arguments: starts)
    func `a reading task begins only if no other reading task runs`(
        before: StoreReader.State, begins: Bool
    ) {
        var reader = reader(in: before)
        #expect(reader.state == before)
        #expect(reader.start() == begins)
        #expect(reader.state == .due)
    }

    private static let steps: [(StoreReader.State, [String]?, StoreReader.State)] = [
        (.idle, nil, .idle), (.due, ["a"], .recording), (.recording, nil, .idle),
    ]

    @Test(arguments: steps)
    func `when a reading task is due, it records the announced documents`(
        before: StoreReader.State, recorded: [String]?, after: StoreReader.State
    ) {
        var reader = reader(in: before)
        #expect(reader.next()?.map(\.jws) == recorded)
        #expect(reader.state == after)
    }

    @Test(arguments: [StoreReader.State.idle, .due, .recording])
    func `a due reading task starts only after the previous one has ended`(
        before: StoreReader.State
    ) {
        var reader = reader(in: before)
        reader.finish()
        #expect(reader.state == .idle)
        #expect(reader.start() == true)
        #expect(reader.next()?.map(\.jws) == ["a"], "Nothing that was announced is lost.")
    }

    @Test func `a document that is announced during a reading task is recorded once, by that task`()
    {
        var reader = StoreReader()
        reader.announce(Self.document("a"))
        reader.announce(Self.document("b"))
        #expect(reader.start() == true)
        #expect(reader.next()?.map(\.jws) == ["a", "b"])
        reader.announce(Self.document("c"))
        #expect(reader.start() == false)
        #expect(reader.next()?.map(\.jws) == ["c"])
        #expect(reader.next() == nil)
        #expect(reader.start() == true)
        #expect(reader.next()?.isEmpty == true, "The store is read without an announcement, too.")
    }

    @Test func `if a second reading of the store is planned twice, it is done once`() {
        var reader = StoreReader()
        #expect(reader.beginSecondLook(at: 1_000) == false)
        reader.planSecondLook(at: 1_000)
        reader.planSecondLook(at: 2_000)
        #expect(reader.secondLookAt == 1_000 + StoreReader.secondLookWait)
        #expect(reader.beginSecondLook(at: 31_999) == false)
        #expect(reader.beginSecondLook(at: 32_000) == true)
        #expect(reader.secondLookAt == nil && !reader.beginSecondLook(at: 32_000))
        reader.planSecondLook(at: 40_000)
        #expect(reader.secondLookAt == 71_000)
    }

    @Test func `each renewal info is posted once`() {
        var reader = StoreReader()
        #expect(reader.post("a") && reader.post("b"))
        #expect(reader.post("a") == false)
    }
}

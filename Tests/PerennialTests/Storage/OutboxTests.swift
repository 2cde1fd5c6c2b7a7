import Foundation
import Testing

@testable import Perennial
@testable import PerennialContract

struct OutboxTests {
    private let folder: TemporaryFolder
    private let now = Timestamp(milliseconds: 1_798_000_000_000)

    init() throws { folder = try TemporaryFolder() }

    private var path: String { folder.device.path(Outbox.fileName) }

    private func document(
        _ text: String, intent: PurchaseIntent = .sync, for customerID: String = "anna"
    ) -> OutboxEntry {
        OutboxEntry(
            .document(
                .init(
                    kind: .transaction, text: text, intent: intent, transactionID: "200",
                    productID: "pro.monthly")),
            for: customerID, firstSeen: now)
    }

    private func debit(_ key: String, amount: Int64 = 1) -> OutboxEntry {
        OutboxEntry(
            .debit(.init(wallet: "seeds", amount: amount, reason: "a seed", key: key)),
            for: "anna", firstSeen: now)
    }

    /// The entries that another process finds.
    private func reread() async throws -> [OutboxEntry] {
        await (try Outbox(folder: folder.device, mayWrite: false)).entries
    }

    @Test func `entries that were added to the outbox are read by the next process, in order`()
        async throws
    {
        let entries = [
            document("a"), debit("1"), document("b"),
            OutboxEntry(.alias("anon_1"), for: "anna", firstSeen: now),
        ]
        let outbox = try Outbox(folder: folder.device)
        #expect(try await outbox.add(entries) == [.added, .added, .added, .added])
        #expect(try await reread() == entries)
        #expect(try await outbox.add(entries) == [.present, .present, .present, .present])
        try await outbox.complete([entries[1].id])
        try await outbox.complete([entries[1].id])
        #expect(try await reread() == [entries[0], entries[2], entries[3]])
    }

    @Test func `a refund under the same transaction counts as another document`() async throws {
        let outbox = try Outbox(folder: folder.device)
        #expect(
            try await outbox.add([document("paid"), document("refunded")]) == [.added, .added])
    }

    @Test func `one document of two customers makes two outbox entries`() async throws {
        let outbox = try Outbox(folder: folder.device)
        let added = try await outbox.add([document("a"), document("a", for: "ben")])
        #expect(added == [.added, .added])
    }

    @Test func `if a restore posts a document again, the document is due at once as a restore`()
        async throws
    {
        let outbox = try Outbox(folder: folder.device)
        let entry = document("a")
        _ = try await outbox.add([entry])
        try await outbox.postpone(
            [entry.id], until: Timestamp(milliseconds: now.milliseconds + 60_000))
        #expect(await outbox.due(at: now) == [])
        #expect(try await outbox.add([document("a", intent: .restore)]) == [.present])
        let due = await outbox.due(at: now)
        #expect(due.count == 1)
        #expect(due.first?.attempts == 1)
        guard case .document(let kept)? = try await reread().first?.content else {
            Issue.record("It should be a document.")
            return
        }
        #expect(kept.intent == .restore)
        // If the app then finds the document by itself, the restore's intent stays.
        #expect(try await outbox.add([document("a")]) == [.present])
        #expect(await outbox.entries.first?.content == .document(kept))
    }

    @Test func `a refused entry is not due until the process ends, even if it cannot be written`()
        async throws
    {
        let outbox = try Outbox(folder: folder.device)
        let entry = document("a")
        _ = try await outbox.add([entry])
        await outbox.close()
        await #expect(throws: FileFailure.self) {
            try await outbox.setApart(entry.id, code: "refused", at: now)
        }
        #expect(await outbox.due(at: now) == [])
    }

    @Test func `a log-in is written even if there is no room for documents`() async throws {
        let outbox = try Outbox(folder: folder.device)
        try await outbox.fill()
        let alias = OutboxEntry(.alias("anon_1"), for: "anna", firstSeen: now)
        let added = try await outbox.add([document("a"), debit("1"), alias])
        #expect(added == [.full, .full, .added])
        #expect(try await reread().last == alias)
    }

    /// Opens the outbox for writing. A process that another test starts just now holds a copy of
    /// the last outbox's lock, until it runs its own program.
    private func writer() async throws -> Outbox {
        var outbox = try Outbox(folder: folder.device)
        try await eventually("the outbox is unlocked") {
            if outbox.isWriter { return true }
            outbox = try Outbox(folder: folder.device)
            return false
        }
        return outbox
    }

    @Test func `if the last record is truncated at any byte, all earlier records are still read`()
        async throws
    {
        let first = [document("a"), debit("1")]
        do {
            let outbox = try Outbox(folder: folder.device)
            _ = try await outbox.add(first)
        }
        let before = try folder.bytes(path)
        do {
            let outbox = try Outbox(folder: folder.device)
            _ = try await outbox.add([document("the last one")])
        }
        let after = try folder.bytes(path)
        for count in before.count..<after.count {
            try folder.write(Array(after.prefix(count)), to: path)
            let outbox = try await writer()
            #expect(await outbox.entries == first, "\(count) bytes")
            // The outbox can be written again, and then the file is complete.
            #expect(try await outbox.add([document("next")]) == [.added])
            #expect(try await reread() == first + [document("next")], "\(count) bytes")
            #expect(OutboxLine.lines(in: try folder.bytes(path)).isClean)
        }
    }

    @Test func `an outbox entry from a version without placements is read`() async throws {
        let entry = document("a")
        var content = ByteReader(OutboxLine.added(entry).fileBytes[...])
        let marker = try content.next(5)
        _ = try content.next(4 + 8)
        // The placement is the last field: one byte if there is none.
        let old = try content.next(OutboxLine.added(entry).fileBytes.count - 17 - 1)
        #expect(try content.next(1).elementsEqual([0]))
        var length = ByteWriter()
        length.write(count: old.count)
        let checksum = Cryptography.sha256(length.bytes + old).prefix(8)
        let file = Array(marker) + length.bytes + checksum + old
        #expect(OutboxLine.lines(in: file) == ([.added(entry)], true))
    }

    @Test func `a placement is stored with its document`() async throws {
        let entry = OutboxEntry(
            .document(
                .init(kind: .transaction, text: "a", intent: .purchase, placement: "onboarding")),
            for: "anna", firstSeen: now)
        let outbox = try Outbox(folder: folder.device)
        _ = try await outbox.add([entry])
        #expect(try await reread() == [entry])
    }

    @Test func `if a record is damaged, all other records are still read`() async throws {
        let entries = [document("a"), document("b"), document("c")]
        do {
            let outbox = try Outbox(folder: folder.device)
            _ = try await outbox.add(entries)
        }
        let whole = try folder.bytes(path)
        let length = OutboxLine.added(entries[0]).fileBytes.count
        for index in length..<2 * length {
            var damaged = whole
            damaged[index] ^= 0x55
            try folder.write(damaged, to: path)
            let left = try await reread()
            #expect(left == [entries[0], entries[2]], "byte \(index)")
        }
    }

    @Test func `compaction of the outbox keeps waiting entries, in order`() async throws {
        let outbox = try Outbox(folder: folder.device)
        let long = String(repeating: "x", count: 2_000)
        let entries = (0..<200).map { document("\($0)" + long) }
        _ = try await outbox.add(entries)
        try await outbox.setApart(entries[7].id, code: "purchase_not_trusted", at: now)
        let size = try folder.bytes(path).count
        let done = entries.indices.filter { $0 % 10 != 7 }.map { entries[$0].id }
        try await outbox.complete(done)
        #expect(try folder.bytes(path).count < size / 5)
        var left = entries.indices.filter { $0 % 10 == 7 }.map { entries[$0] }
        left[0].attempts = 1
        left[0].state = .setApart(code: "purchase_not_trusted")
        left[0].nextTry = Timestamp(milliseconds: now.milliseconds + Outbox.setApartInterval)
        #expect(await outbox.entries == left)
        #expect(try await reread() == left)
        _ = try await outbox.add([document("later")])
        #expect(try await reread() == left + [document("later")])
    }

    @Test func `an outbox entry that was set apart is due a day later, but others are due at once`()
        async throws
    {
        let outbox = try Outbox(folder: folder.device)
        let poison = document("poison")
        _ = try await outbox.add([poison, document("good")])
        try await outbox.setApart(poison.id, code: "purchase_not_trusted", at: now)
        #expect(await outbox.due(at: now) == [document("good")])
        await outbox.hurry()
        #expect(await outbox.due(at: now) == [document("good")])
        let tomorrow = Timestamp(milliseconds: now.milliseconds + Outbox.setApartInterval)
        #expect(await outbox.due(at: tomorrow).map(\.id) == [document("good").id, poison.id])
    }

    @Test func `after a request to hurry, postponed entries are due at once`() async throws {
        let outbox = try Outbox(folder: folder.device)
        let entry = document("a")
        _ = try await outbox.add([entry])
        try await outbox.postpone(
            [entry.id], until: Timestamp(milliseconds: now.milliseconds + 1))
        #expect(await outbox.due(at: now) == [])
        await outbox.hurry()
        #expect(await outbox.due(at: now).count == 1)
    }

    @Test func `a full outbox refuses new documents and keeps the old ones`() async throws {
        let outbox = try Outbox(folder: folder.device)
        let long = String(repeating: "x", count: 100_000)
        let entries = (0..<50).map { document("\($0)" + long) }
        let additions = try await outbox.add(entries)
        let kept = zip(entries, additions).filter { $0.1 == .added }.map(\.0)
        #expect(additions.contains(.full))
        #expect(kept.count == 39)
        for _ in 0..<40 {
            try await outbox.postpone(kept.map(\.id), until: now)
        }
        #expect(try folder.bytes(path).count <= Outbox.bytesMax)
        #expect(try await reread().map(\.id) == kept.map(\.id))
        try await outbox.complete(kept.map(\.id))
        #expect(try await outbox.add([document("new")]) == [.added])
    }

    @Test func `a second process cannot write the outbox until the first one ends`() async throws {
        var first: Outbox? = try Outbox(folder: folder.device)
        _ = try await first?.add([document("a")])
        let second = try Outbox(folder: folder.device)
        #expect(first?.isWriter == true)
        #expect(!second.isWriter)
        #expect(await second.entries == [document("a")])
        await #expect(throws: FileFailure.notWriter) { try await second.add([document("b")]) }
        await #expect(throws: FileFailure.notWriter) {
            try await second.complete([document("a").id])
        }
        #expect(try Outbox(folder: folder.device, mayWrite: false).isWriter == false)
        first = nil
        #expect(try Outbox(folder: folder.device).isWriter)
    }

    @Test func `an unreadable file is an error, and does not count as an empty outbox`() throws {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        #expect(throws: FileFailure.self) { try Outbox(folder: folder.device) }
    }

    @Test func `the waiting debits from a wallet are added up by customer`() async throws {
        let outbox = try Outbox(folder: folder.device)
        _ = try await outbox.add([debit("1", amount: 2), debit("2", amount: 3), debit("1")])
        #expect(await outbox.waitingDebits(from: "seeds", of: "anna") == 5)
        #expect(await outbox.waitingDebits(from: "seeds", of: "ben") == 0)
        #expect(await outbox.waitingDebits(from: "faces", of: "anna") == 0)
    }
}

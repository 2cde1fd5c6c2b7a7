import Engine
import Foundation
import Ledger
import Storage
import Testing

@testable import Program

/// The server detects that an older copy has replaced its database.
@Suite struct LogPlaceTests {
    private static let app: AppID = "rage"

    /// Runs the body with a database of four events. A server has recorded that the log has
    /// `recorded` events.
    private static func withDatabase(
        recorded count: Int64 = 4,
        _ body: (_ path: String, _ file: LogPlaceFile) async throws -> Void
    ) async throws {
        try await TemporaryFolder.with { folder in
            let path = folder + "/p.sqlite"
            try await addEvents(4, to: path)
            let file = try #require(LogPlaceFile(for: path))
            try file.write([app: LogPosition(nil, count)])
            try await body(path, file)
        }
    }

    private static func addEvents(_ count: Int, to path: String) async throws {
        let store = Database(try DatabaseAddress.open(path))
        defer { store.driver.close() }
        try await store.migrate(at: 0)
        for number in 0..<count / 2 {
            try await store.transaction { tx in
                let purchase = PurchaseID(TransactionID(rawValue: "\(number)"), in: .production)
                let customer = try IdentityUpdates(tx).customer("anna", in: app, at: .machine)
                    .customer
                try OwnershipUpdates(tx).block(
                    purchase, of: customer, reason: "", in: app, at: .machine)
                try OwnershipUpdates(tx).unblock(purchase, of: customer, in: app, at: .machine)
            }
        }
    }

    /// Returns the failure at the start, or nil if the server may start.
    private static func refusal(_ file: LogPlaceFile) async throws -> StartFailure? {
        do {
            try await file.check()
            return nil
        } catch let failure as StartFailure { return failure }
    }

    @Test(arguments: [(0, true), (3, true), (4, true), (5, false)] as [(Int64, Bool)])
    func `a database with fewer events than the server has recorded is refused`(
        recorded: Int64, isAccepted: Bool
    ) async throws {
        try await Self.withDatabase(recorded: recorded) { path, file in
            let refusal = try await Self.refusal(file)
            #expect((refusal == nil) == isAccepted)
            guard let refusal else { return }
            #expect(refusal.message.contains("\(path) is older"))
            #expect(refusal.remedy.contains("perennial restore --mark --database \(path)"))
        }
    }

    /// The server also stops for a copy with the same content, because it has the earlier file
    /// open.
    @Test func `a server stops if its database is replaced or removed while it runs`()
        async throws
    {
        try await Self.withDatabase { path, file in
            let opened = file.databaseFile
            #expect(opened != nil)
            try file.requireDatabase(opened)
            try await Self.addEvents(2, to: path)
            try file.requireDatabase(opened)
            try FileManager.default.moveItem(atPath: path, toPath: path + ".old")
            #expect(throws: LogTooShort.self) { try file.requireDatabase(opened) }
            try FileManager.default.copyItem(atPath: path + ".old", toPath: path)
            let failure = #expect(throws: LogTooShort.self) { try file.requireDatabase(opened) }
            #expect(failure?.failure.message.contains("was replaced or removed") == true)
        }
    }

    @Test
    func `a database marked by the operator is accepted, but an earlier copy is refused`()
        async throws
    {
        try await Self.withDatabase(recorded: 9) { path, file in
            let copy = path + ".copy"
            _ = try await BackupCopy(of: path).make(at: copy)
            #expect(try await Self.refusal(file) != nil)
            let marked = try await BuiltProgram.output(
                of: #""$perennial" restore --mark --database '\#(path)'"#)
            #expect(marked.hasPrefix("Epoch "))
            #expect(try await Self.refusal(file) == nil)
            // A server has recorded the new epoch. The earlier copy does not have this epoch.
            let store = Database(try DatabaseAddress.open(path))
            let epoch = try await store.read { try $0.events.epochs(of: Self.app).current }
            store.driver.close()
            try file.write([Self.app: LogPosition(epoch, 4)])
            #expect(try await Self.refusal(file) == nil)
            for suffix in ["", "-wal", "-shm"] { unlink(path + suffix) }
            try FileManager.default.copyItem(atPath: copy, toPath: path)
            #expect(try await Self.refusal(file) != nil)
        }
    }

    @Test func `after a restore, a database with fewer events than recorded is accepted`()
        async throws
    {
        try await Self.withDatabase { path, file in
            let copy = path + ".copy"
            _ = try await BackupCopy(of: path).make(at: copy)
            try await Self.addEvents(2, to: path)
            try file.write([Self.app: LogPosition("k3f9x2ab7c", 6)])
            _ = try await DatabaseRestore(backup: copy, path: path, now: .machine).run()
            #expect(try await Self.refusal(file) == nil)
        }
    }

    @Test func `a missing database is refused, and no new database is created silently`()
        async throws
    {
        try await Self.withDatabase { path, file in
            unlink(path)
            let refusal = try await Self.refusal(file)
            #expect(refusal?.message.hasPrefix("There is no database at") == true)
            #expect(refusal?.remedy.contains("remove \(file.path)") == true)
            file.remove()
            #expect(try await Self.refusal(file) == nil)
        }
    }

    @Test(arguments: ["", "rage", "rage x", "rage 5 6", "rage 9\n\u{0}"])
    func `an unreadable position file has no effect`(text: String) async throws {
        try await Self.withDatabase { _, file in
            try Data(text.utf8).write(to: URL(fileURLWithPath: file.path))
            #expect(file.places() == [:])
            #expect(try await Self.refusal(file) == nil)
        }
    }

    @Test(arguments: ["postgres://localhost/x", ":memory:", "host=db dbname=x"])
    func `only a database in a file has a position file`(address: String) {
        #expect(LogPlaceFile(for: address) == nil)
    }

    @Test func `recorded positions can be read again, and only by their user`() async throws {
        try await Self.withDatabase { _, file in
            let places: LogPlaceFile.Places = [
                "rage": LogPosition("k3f9x2ab7c", 12), "birds": LogPosition(nil, 0),
            ]
            try file.write(places)
            #expect(file.places() == places)
            #expect(FileStatus(path: file.path)?.permissions == 0o600)
        }
    }
}

import AppStoreFormats
import Eventually
import Foundation
import Testing

/// A backup is made while the server works, and is then restored. Ids and cursors of lost data are
/// never mistaken for those of new data.
@Suite(.serialized) struct BackupStories {
    /// The minimum number of backups that are made while notifications arrive.
    private static let backupsMin = 3

    @Test(.timeLimit(.minutes(10)))
    func `a backup under load can be restored, and has every notification acknowledged before it`()
        async throws
    {
        try await withShop(on: .sqlite, notifies: false) { shop in
            let folder = try TemporaryFolder()
            defer { folder.remove() }
            let program = try await ServerProgram(
                folder: folder, simulator: shop.simulator, on: .sqlite,
                folder.path + "/p.sqlite")
            let notifications = try await Stream.notifications(from: shop.simulator)
            let server = try await program.start()
            let acknowledged = Acknowledged()
            async let stream: Void = Stream.sendOnce(notifications, to: server.wire, acknowledged)
            var backups: [(file: String, before: Set<String>)] = []
            while acknowledged.all.count < notifications.count / 2 {
                let file = folder.path + "/backup-\(backups.count)"
                let before = acknowledged.all
                let made = try await program.run(["backup", file])
                #expect(made.status == 0, "\(made.output)")
                backups.append((file, before))
                try await eventually("another acknowledgement") {
                    acknowledged.all.count > before.count
                }
            }
            await stream
            #expect(acknowledged.all.count == notifications.count, "a writer was disturbed")
            #expect(backups.count >= Self.backupsMin)
            for (file, before) in backups {
                #expect(try await program.missing(before, in: file).isEmpty, "\(file)")
            }
            let refused = try await program.run(["restore", backups[0].file])
            #expect(refused.status == 1 && refused.output.contains("Another server works on"))
            server.kill()
            let last = try #require(backups.last)
            let restored = try await program.run(["restore", last.file])
            #expect(restored.status == 0, "\(restored.output)")
            #expect(try await program.missing(last.before).isEmpty)
            try await program.expectClean()
            try await program.start().kill()
        }
    }

    @Test(.timeLimit(.minutes(10)))
    func `after a restore, old cursors are refused with 410, and old ids are not used again`()
        async throws
    {
        try await withShop(on: .sqlite, notifies: false) { shop in
            let folder = try TemporaryFolder()
            defer { folder.remove() }
            let program = try await ServerProgram(
                folder: folder, simulator: shop.simulator, on: .sqlite,
                folder.path + "/p.sqlite")
            let bought = try await shop.buyMonth("anna")
            var server = try await program.start()
            var log = LogReader(server, program)
            try await log.wire.post(
                "/v1/purchases",
                [
                    "customer_id": "anna",
                    "signed_transactions": [.string(try bought.text("signed_transaction"))],
                ])
            let shared = try await log.all()
            let file = folder.path + "/backup"
            let made = try await program.run(["backup", file])
            #expect(made.status == 0, "\(made.output)")
            let original = try bought.text("original_transaction_id")
            let lostTransfer = try await log.transfer(original, to: "ben")
            let lost = try await log.all()
            server.kill()

            let restored = try await program.run(["restore", file])
            #expect(restored.status == 0, "\(restored.output)")
            server = try await program.start()
            log = LogReader(server, program)
            // The log grows to its former size and beyond, so the numbers alone seem valid.
            let transfer = try await log.transfer(original, to: "ben")
            // The transfers have the same number and customer, but they are different transfers.
            #expect(transfer != lostTransfer)
            let path = "/v1/customers/ben/transfers/"
            #expect(try await log.wire.send("DELETE", path + lostTransfer).status == 404)
            for size in 1...3 {
                let refused = try await log.refusal(of: lost.cursor)
                #expect(refused.status == 410)
                #expect(try refused.json.text("code") == "cursor_outdated")
                try await log.addAlias("a-\(size)")
            }
            let grown = try await log.all()
            #expect(grown.ids.count == lost.ids.count + 3)
            #expect(
                grown.ids.starts(with: shared.ids), "events from before the backup keep their ids")
            let gone = Set(lost.ids).subtracting(shared.ids)
            #expect(!gone.isEmpty && gone.isDisjoint(with: grown.ids))

            // The refusal says how the client can continue.
            let remedy = try await log.refusal(of: lost.cursor).json.text("remedy")
            let next = try #require(remedy.firstMatch(of: /after=(\w+)/)).output.1
            #expect(
                try await log.page(after: String(next)).ids
                    == Array(grown.ids.dropFirst(shared.ids.count)))
            #expect(try await log.page(after: grown.cursor).ids == [])

            #expect(try await log.wire.send("DELETE", path + transfer).status == 200)
            server.kill()
            try await program.expectClean()
        }
    }

    @Test(.timeLimit(.minutes(10)))
    func `a server refuses to start on a copied database until restore --mark has marked it`()
        async throws
    {
        try await withShop(on: .sqlite, notifies: false) { shop in
            let folder = try TemporaryFolder()
            defer { folder.remove() }
            let (path, copy) = (folder.path + "/p.sqlite", folder.path + "/copy")
            let program = try await ServerProgram(
                folder: folder, simulator: shop.simulator, on: .sqlite, path)
            var server = try await program.start()
            var log = LogReader(server, program)
            for number in 1...3 { try await log.addAlias("a-\(number)") }
            let made = try await program.run(["backup", copy])
            #expect(made.status == 0, "\(made.output)")
            for number in 4...6 { try await log.addAlias("a-\(number)") }
            let lost = try await log.all()
            try await eventually("the place of the log is recorded") {
                let text = try? String(contentsOfFile: path + ".log-place", encoding: .utf8)
                return text?.contains("birds \(lost.ids.count)\n") ?? false
            }
            server.kill()
            for suffix in ["", "-wal", "-shm"] {
                try? FileManager.default.removeItem(atPath: path + suffix)
            }
            try FileManager.default.copyItem(atPath: copy, toPath: path)
            for _ in 1...2 {
                let refused = try await program.run(
                    ["serve", "--port", "0", "--clock-from", shop.simulator.base],
                    within: 120)
                #expect(refused.status == 1)
                #expect(refused.output.contains("is older than what a server has recorded"))
            }
            let marked = try await program.run(["restore", "--mark"])
            #expect(marked.status == 0, "\(marked.output)")
            server = try await program.start()
            log = LogReader(server, program)
            #expect(try await log.refusal(of: lost.cursor).status == 410)
            server.kill()
            try await program.expectClean()
        }
    }

    @Test(.timeLimit(.minutes(10)))
    func `a PostgreSQL database can be marked as restored while no server uses it`() async throws {
        try await withShop(on: .sqlite, notifies: false) { shop in
            let folder = try TemporaryFolder()
            defer { folder.remove() }
            try await StoryDatabase.postgres.withAddress { address in
                let program = try await ServerProgram(
                    folder: folder, simulator: shop.simulator, on: .postgres, address)
                var server = try await program.start()
                try await LogReader(server, program).addAlias("a-1")
                let before = try await LogReader(server, program).all()
                let live = try await program.run(["restore", "--mark"])
                #expect(live.status == 1 && live.output.contains("is in use"), "\(live.output)")
                let copied = try await program.runWithoutLocation([
                    "migrate", "--from", address, "--to", folder.path + "/copy.sqlite",
                ])
                #expect(copied.status == 1, "\(copied.output)")
                #expect(copied.output.contains("is in use"))
                server.kill()
                let refused = try await program.run(["backup", folder.path + "/b"])
                #expect(refused.status == 1 && refused.output.contains("pg_dump"))
                let marked = try await program.run(["restore", "--mark"])
                #expect(marked.status == 0, "\(marked.output)")
                server = try await program.start()
                let log = LogReader(server, program)
                try await log.addAlias("a-2")
                #expect(try await log.refusal(of: before.cursor).status == 410)
                let after = try await log.all()
                #expect(after.ids.starts(with: before.ids) && after.ids.count == 2)
                #expect(after.ids.last != "evt_2")
                #expect(try await log.page(after: after.cursor).ids == [])
                server.kill()
            }
        }
    }

    @Test(.timeLimit(.minutes(10)))
    func `while a server uses a SQLite file, a second server is refused, but commands work`()
        async throws
    {
        try await withShop(on: .sqlite, notifies: false) { shop in
            let folder = try TemporaryFolder()
            defer { folder.remove() }
            let program = try await ServerProgram(
                folder: folder, simulator: shop.simulator, on: .sqlite,
                folder.path + "/p.sqlite")
            let first = try await program.start()
            let second = try await program.run(
                ["serve", "--port", "0", "--clock-from", shop.simulator.base],
                within: ServerProgram.refusalSeconds)
            #expect(second.status == 1, "\(second.output)")
            #expect(second.output.contains("(process \(first.process))"), "\(second.output)")
            #expect(try await program.run(["keys", "list"]).status == 0)
            let made = try await program.run(["keys", "create", "--app", "birds", "--kind", "app"])
            #expect(made.status == 0)
            #expect(try await first.wire.send("GET", "/ready").status == 200)
            first.kill()
            try await program.start().kill()
        }
    }
}

/// Another program that reads the log of a server.
private struct LogReader {
    let wire: Wire

    init(_ server: ServerProgram.Running, _ program: ServerProgram) {
        var wire = server.wire
        wire.bearer = program.key
        self.wire = wire
    }

    func page(after cursor: String) async throws -> (ids: [String], cursor: String) {
        let list = try await wire.get("/v1/events?limit=500&after=\(cursor)")
        let ids = (list["items"]?.array ?? []).compactMap { $0["id"]?.string }
        return (ids, try list.text("next_cursor"))
    }

    func all() async throws -> (ids: [String], cursor: String) { try await page(after: "") }

    func refusal(of cursor: String) async throws -> Wire.Answer {
        try await wire.send("GET", "/v1/events?after=\(cursor)")
    }

    func addAlias(_ id: String) async throws {
        try await wire.post("/v1/customers/anna/aliases", ["customer_id": .string(id)])
    }

    /// Returns the id of the new transfer.
    func transfer(_ original: String, to customer: String) async throws -> String {
        try await wire.post(
            "/v1/customers/\(customer)/transfers",
            ["original_transaction_id": .string(original), "reason": "ticket"]
        ).text("transfer_id")
    }
}

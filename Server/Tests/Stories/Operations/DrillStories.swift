import AppStoreFormats
import BucketDouble
import Dice
import Eventually
import Foundation
import Ledger
import Synchronization
import Testing

/// The machine of a server is lost while notifications arrive, and the database is restored
/// elsewhere from the folder of its backups, or from the bucket if the folder is lost, too.
@Suite(.serialized) struct DrillStories {
    /// What may be lost at most.
    private static let lostAtMost = Duration.seconds(10)
    private static let rounds =
        ProcessInfo.processInfo.environment["PERENNIAL_DRILLS"].flatMap { Int($0) } ?? 1

    /// The payloads that a server has answered with 200, and when.
    private final class Answered: Sendable {
        private let payloads = Mutex<[(payload: String, at: ContinuousClock.Instant)]>([])

        func add(_ payload: String) {
            payloads.withLock { $0.append((payload, .now)) }
        }

        func all(before moment: ContinuousClock.Instant) -> Set<String> {
            payloads.withLock { all in Set(all.filter { $0.at <= moment }.map(\.payload)) }
        }

        var count: Int { payloads.withLock { $0.count } }
    }

    @Test(.timeLimit(.minutes(60)), arguments: 1...rounds)
    func `a lost machine loses at most ten seconds of data, and erased customers stay erased`(
        round: Int
    ) async throws {
        try await Self.drill(round)
    }

    @Test(
        .timeLimit(.minutes(60)), .enabled(if: BucketServer.isInstalled), arguments: 1...rounds)
    func `nothing older than ten seconds is lost with a machine if a bucket has its backups`(
        round: Int
    ) async throws {
        let bucket = try BucketServer.start()
        defer { bucket.stop() }
        try await Self.drill(round, bucket)
    }

    private static func drill(_ round: Int, _ bucket: BucketServer? = nil) async throws {
        try await withShop(on: .sqlite, notifies: false) { shop in
            let folder = try TemporaryFolder()
            defer { folder.remove() }
            let backups = folder.path + "/backups"
            try FileManager.default.createDirectory(
                atPath: backups, withIntermediateDirectories: false)
            let more = try bucket.map { try Self.settings(of: $0, in: folder.path) } ?? ""
            let program = try await ServerProgram(
                folder: folder, simulator: shop.simulator, on: .sqlite,
                folder.path + "/lost.sqlite",
                more: "backup:\n  folder: backups\n  point_in_time: true\n" + more)
            let notifications = try await Stream.notifications(from: shop.simulator)
            let server = try await program.start()
            try await Self.restoreAfterLoss(
                of: server, program, notifications, round, backups, hasBucket: bucket != nil)
        }
    }

    private static let address = "s3://backups/perennial"

    /// Lines of the configuration. The credentials are in files beside it.
    private static func settings(of bucket: BucketServer, in folder: String) throws -> String {
        for (name, text) in [
            ("id.txt", bucket.credentials.accessKeyID),
            ("secret.txt", bucket.credentials.secretAccessKey),
        ] { try Data(text.utf8).write(to: URL(filePath: "\(folder)/\(name)")) }
        return """
              bucket:
                address: \(address)
                endpoint: \(bucket.endpoint)
                access_key_id_file: id.txt
                secret_access_key_file: secret.txt

            """
    }

    private static func restoreAfterLoss(
        of server: ServerProgram.Running, _ program: ServerProgram, _ notifications: [String],
        _ round: Int, _ backups: String, hasBucket: Bool
    ) async throws {
        var dice = Dice(announcedBy: "DrillStories.\(round)")
        let answered = Answered()
        let load = Task {
            let wire = server.wire
            for payload in notifications {
                let body: JSON = ["signedPayload": .string(payload)]
                let answer = try? await wire.send(
                    "POST", "/apple/notifications", body: body.bytes)
                guard let answer else { return }
                if answer.status == 200 { answered.add(payload) }
            }
        }
        // The first backup, after which changes are shipped, is made at the start.
        try await add("anna", at: server, program)
        let added = try await shippedMoment(in: backups)
        try await erase("anna", at: server, program)
        let killedAfter = Duration.milliseconds(Int.random(in: 11_000...20_000, using: &dice))
        try await Task.sleep(for: killedAfter)
        try await add("ben", at: server, program)
        try await erase("ben", at: server, program)
        let lostAt = ContinuousClock.now
        server.kill()
        _ = await load.result
        for name in try FileManager.default.contentsOfDirectory(atPath: program.folder.path)
        where name.hasPrefix("lost.sqlite") {
            try FileManager.default.removeItem(atPath: "\(program.folder.path)/\(name)")
        }
        if hasBucket {
            try FileManager.default.removeItem(atPath: backups)
            try FileManager.default.createDirectory(
                atPath: backups, withIntermediateDirectories: false)
        }
        let source = hasBucket ? [address] : []
        try await expectRest(of: answered, until: lostAt, program, round, source)
        // At this moment, anna was not erased yet.
        let early = try await restored(program, as: "early", at: "\(added)", from: source)
        try await expectErased(at: early)
    }

    private static func expectRest(
        of answered: Answered, until lostAt: ContinuousClock.Instant, _ program: ServerProgram,
        _ round: Int, _ source: [String]
    ) async throws {
        let found = try await restored(program, as: "found", at: "latest", from: source)
        let must = answered.all(before: lostAt - lostAtMost)
        #expect(!must.isEmpty)
        let missing = try await found.missing(must)
        #expect(missing.isEmpty, "round \(round): \(missing.count) of \(must.count) are lost")
        let lost = try await found.missing(answered.all(before: lostAt)).count
        print("drill \(round): \(answered.count) acknowledged, the last \(lost) of them lost")
        try await expectErased(at: found)
        try await found.expectClean()
    }

    /// Restores a moment under another name.
    ///
    /// - Parameter source: the bucket; empty for the folder of the configuration.
    private static func restored(
        _ program: ServerProgram, as name: String, at moment: String, from source: [String]
    ) async throws -> ServerProgram {
        let restored = program.reaching("\(program.folder.path)/\(name).sqlite")
        let outcome = try await restored.run(["restore"] + source + ["--at", moment])
        #expect(outcome.status == 0, "\(outcome.output)")
        return restored
    }

    /// Starts a server on a restored database.
    private static func expectErased(at program: ServerProgram) async throws {
        let server = try await program.start()
        var wire = server.wire
        wire.bearer = program.key
        for customer in ["anna", "ben"] {
            let state = try await wire.get("/v1/customers/\(customer)").text
            #expect(!state.contains(customer + "-2"), "\(state)")
        }
        let log = try await wire.get("/v1/events?limit=500").text
        #expect(!log.contains("anna") && !log.contains("ben"))
        server.kill()
    }

    /// Waits until changes have been shipped that are newer than the present moment. Returns the
    /// time of the newest.
    private static func shippedMoment(in backups: String) async throws -> Instant {
        let now = Instant(milliseconds: Int64(Date().timeIntervalSince1970 * 1000))
        var moment = now
        try await eventually("changes are shipped") {
            let last = try FileManager.default.subpathsOfDirectory(atPath: backups)
                .compactMap { $0.firstMatch(of: #/\d{8}-(\d+)-[0-9a-f]+-[0-9a-f]+\.pages$/#) }
                .map(\.output.1)
                .compactMap { Int64($0) }.max()
            moment = Instant(milliseconds: last ?? 0)
            return moment > now
        }
        return moment
    }

    private static func add(
        _ customer: String, at server: ServerProgram.Running, _ program: ServerProgram
    ) async throws {
        var wire = server.wire
        wire.bearer = program.key
        try await wire.post(
            "/v1/customers/\(customer)/aliases", ["customer_id": .string(customer + "-2")])
    }

    private static func erase(
        _ customer: String, at server: ServerProgram.Running, _ program: ServerProgram
    ) async throws {
        var wire = server.wire
        wire.bearer = program.key
        #expect(try await wire.send("DELETE", "/v1/customers/\(customer)").status == 200)
    }
}

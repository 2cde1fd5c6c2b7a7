import Foundation
import PostgresCluster

/// Measures how notifications are received over HTTP and stored in a durable database. Compares the
/// cost with the one signature verification that each notification needs.
struct NotificationBench {
    static let connections = 32
    private static let verifications = 1500

    let bench: BenchFolder
    let maker: DocumentMaker
    let programs: Programs

    init(_ bench: BenchFolder) throws {
        self.bench = bench
        maker = DocumentMaker(authority: bench.authority)
        programs = try Programs(bench)
    }

    /// Measures notifications on SQLite, and their bytes on disk.
    func measureOnSQLite() async throws -> [Measured] {
        let path = try bench.freshDatabase("notifications.sqlite")
        _ = try programs.createKey(path)
        let empty = try settledBytes(path)
        let rows = try await Floor.writing(onSQLite: bench, maker)
        let (result, payloadBytes) = try measure(path, .notificationSQLite, rows: rows)
        let full = try settledBytes(path)
        let count = subscriptions * DocumentMaker.periods
        let each = Double(full - empty) / Double(count)
        let payload = Double(payloadBytes) / Double(count)
        return [
            result,
            Measured(
                line: .disk, value: each / payload,
                behind: "\(Int(each)) ÷ \(Int(payload)) bytes, all tables and indexes, "
                    + "\(count) notifications of \(subscriptions) subscriptions"),
        ]
    }

    func measureOnPostgres() async throws -> [Measured] {
        let server = try await PostgresServer(surviving: .power)
        try await server.start()
        let outcome: Result<Measured, any Error>
        do {
            let (url, other) = (server.url(of: "bench"), server.url(of: "floor"))
            for (name, url) in [("bench", url), ("floor", other)] {
                try Administration.run("CREATE DATABASE \(name)", at: server.url(of: "postgres"))
                _ = try programs.createKey(url)
            }
            let rows = try await Floor.writing(onPostgres: other, maker)
            outcome = .success(try measure(url, .notificationPostgres, rows: rows).result)
        } catch { outcome = .failure(error) }
        try await server.remove()
        return [try outcome.get()]
    }

    /// The number of subscriptions. In each round, every subscription gets the notification of its
    /// next period.
    private var subscriptions: Int { bench.count(4000, quick: 1000) }

    /// Measures notifications that are posted to a server.
    ///
    /// - Parameter rows: the minimum time for writing one notification's rows, in seconds.
    private func measure(
        _ database: String, _ line: Line, rows: Double
    ) throws -> (result: Measured, payloadBytes: Int) {
        let clock = try programs.simulate()
        let server = try programs.serve(database, clock: clock)
        let load = try Load(port: server.port, connections: Self.connections)
        let bare = try programs.bareServer(bytes: 2)
        defer { bare.stop() }
        let bareLoad = try Load(port: bare.port, connections: Self.connections)
        let library = try programs.libraryServer(bytes: 2)
        defer { library.stop() }
        let libraryLoad = try Load(port: library.port, connections: Self.connections)
        var (ratios, ours, limits): ([Double], [Double], [Double]) = ([], [], [])
        var (sockets, byLibrary): ([Double], [Double]) = ([], [])
        var (bytes, payloadBytes) = (0, 0)
        for period in 0..<DocumentMaker.periods {
            let documents = try (0..<subscriptions).map {
                try maker.notification(.init(number: $0, period: period))
            }
            let requests = documents.map(HTTPRequestBytes.notification)
            let raw = try documents.prefix(64).map { try RawSignature(Array($0.utf8)) }
            let limit = try RawSignature.seconds(of: raw, count: Self.verifications)
            let each = try effort(of: server, requests, load)
            sockets.append(try effort(of: bare, requests, bareLoad))
            byLibrary.append(try effort(of: library, requests, libraryLoad))
            ratios.append(each / limit)
            ours.append(each)
            limits.append(limit)
            bytes = documents[0].utf8.count
            payloadBytes += try documents.reduce(0) { try $0 + DocumentMaker.payloadBytes(of: $1) }
            Progress.report("  round \(period + 1): \(each.microseconds) ÷ \(limit.microseconds)")
        }
        let result = Measured(
            line: line, value: ratios.median,
            floor: (limits.median + sockets.median + rows) / limits.median,
            behind: "\(Int(1 / ours.median)) notifications per second and core: "
                + "\(ours.median.microseconds) ÷ \(limits.median.microseconds), "
                + "notifications of \(bytes) bytes, \(Self.connections) connections; floor: "
                + "the signature, the sockets \(sockets.median.microseconds) "
                + "(by SwiftNIO \(byLibrary.median.microseconds)), "
                + "the rows \(rows.microseconds)")
        server.stop()
        clock.stop()
        return (result, payloadBytes)
    }

    /// Returns the processor time of a server per request, in seconds.
    private func effort(
        of server: RunningProgram, _ requests: [[UInt8]], _ load: Load
    ) throws -> Double {
        let before = try Effort.of(process: server.id)
        try load.exchange(requests.count) { requests[$0] }
        return (try Effort.of(process: server.id) - before) / Double(requests.count)
    }

    /// Returns the size of the database at rest, in bytes.
    private func settledBytes(_ path: String) throws -> Int {
        try DatabaseFiles.checkpoint(path)
        return try DatabaseFiles.bytes(path)
    }
}

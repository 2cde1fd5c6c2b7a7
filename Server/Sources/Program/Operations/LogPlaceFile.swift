import Engine
import Foundation
import Ledger
import Storage

/// The last positions of the apps' logs, in a file beside a SQLite database. A server writes the
/// file while it runs, and compares it when it starts. If the database's log ends earlier, an older
/// copy has replaced the database, for example by `cp`. A server on such a copy would reuse the
/// numbers of lost events for new events, and a client that continues from a number would miss
/// these new events.
///
/// The file never names a position that is not committed. So a power failure does no harm, and
/// neither does the loss of the file.
struct LogPlaceFile: Sendable {
    static let suffix = ".log-place"

    typealias Places = [AppID: LogPosition]

    let path: String
    private let address: String

    /// Returns nil if the address is not a file: a PostgreSQL server, or a database in memory.
    init?(for address: String) {
        guard DatabaseAddress.isFile(address), address != ":memory:" else { return nil }
        self.address = address
        path = Disk.resolvedName(address) + Self.suffix
    }

    // MARK: - The database

    /// Identifies the file at the address of the database. Nil if there is none.
    var databaseFile: FileNumber? { FileNumber(of: address) }

    /// - Throws: ``LogTooShort`` if the file at the address of the database was replaced or
    ///   removed. The server still has the former file open, so everything that it writes would be
    ///   lost.
    func requireDatabase(_ file: FileNumber?) throws(LogTooShort) {
        guard databaseFile != file else { return }
        throw LogTooShort(
            failure: StartFailure(
                "The database \(address) was replaced or removed while the server runs.",
                remedy: "Stop the server before you replace its database, then start it again: it "
                    + "checks what it finds."))
    }

    /// Distinguishes a file from another one of the same name.
    struct FileNumber: Hashable, Sendable {
        private let device: UInt64
        private let number: UInt64

        fileprivate init?(of path: String) {
            var status = stat()
            guard stat(path, &status) == 0 else { return nil }
            (device, number) = (UInt64(status.st_dev), UInt64(status.st_ino))
        }
    }

    // MARK: - The file

    /// The positions that a server has recorded; empty if there is no readable file.
    func places() -> Places {
        guard let bytes = FileManager.default.contents(atPath: path) else { return [:] }
        var places: Places = [:]
        for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n") {
            let parts = line.split(separator: " ")
            guard parts.count == 2, let place = LogPosition(String(parts[1])) else { return [:] }
            places[AppID(rawValue: String(parts[0]))] = place
        }
        return places
    }

    /// Replaces the recorded positions.
    func write(_ places: Places) throws {
        let lines = places.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)\n" }
        let fresh = path + ".new"
        unlink(fresh)
        try Disk.make(fresh)
        try Data(lines.joined().utf8).write(to: URL(fileURLWithPath: fresh))
        try Disk.rename(fresh, to: path)
    }

    /// Deletes the recorded positions, because the database was marked as restored. Idempotent.
    func remove() { unlink(path) }

    // MARK: - Start

    /// - Throws: ``StartFailure`` if a log ends before the recorded position, or if the database no
    ///   longer exists.
    func check() async throws {
        let recorded = places()
        guard recorded.contains(where: { $0.value.sequence > 0 }) else { return }
        guard FileManager.default.fileExists(atPath: address) else { throw missing }
        guard try await DatabaseAddress.version(of: address) >= Schema.version else { return }
        let store = Database(try DatabaseAddress.open(address, mayCreate: false))
        defer { store.driver.close() }
        for (app, place) in recorded.sorted(by: { $0.key < $1.key }) {
            let isThere = try await store.read { tx in
                try LogPlaceReader(tx).hasLog(place, of: app)
            }
            guard isThere else { throw tooShort(app, place) }
        }
    }

    private func tooShort(_ app: AppID, _ place: LogPosition) -> StartFailure {
        StartFailure(
            "The database \(address) is older than what a server has recorded in it: its log of "
                + "app \(app) ends before event \(place). An older copy was put in its place.",
            remedy: "If that is meant, run `perennial restore --mark --database \(address)`: see "
                + "docs/backups.md, Restore. If not, put the right file back.")
    }

    private var missing: StartFailure {
        StartFailure(
            "There is no database at \(address), but a server has recorded events in it.",
            remedy: "Put it back, or restore a backup with `perennial restore`. To begin with an "
                + "empty database, remove \(path).")
    }
}

extension LogPlaceFile {
    /// Records the last positions of the logs, unless they are unchanged. Returns them.
    ///
    /// - Throws: ``LogTooShort`` if a log has become shorter since the last call, because the file
    ///   of the database was replaced while the server runs.
    func record(_ engine: Engine, last: Places) async throws -> Places {
        var places = last
        for app in engine.context.appIDs {
            let place = try await engine.events.lastLogPosition(of: app)
            if let before = last[app], before.epoch == place.epoch,
                before.sequence > place.sequence
            {
                throw LogTooShort(failure: tooShort(app, before))
            }
            places[app] = place
        }
        if places != last { try write(places) }
        return places
    }
}

/// The error if a log has become shorter while a server runs, or if its database was replaced.
struct LogTooShort: Error {
    var failure: StartFailure
}

/// Whether a log contains the place that a server has seen.
struct LogPlaceReader {
    let tx: DatabaseSession

    init(_ tx: DatabaseSession) { self.tx = tx }
}

extension LogPlaceReader {
    /// Whether an app's log contains a position, or was marked as restored after a server recorded
    /// the position.
    fileprivate func hasLog(_ place: LogPosition, of app: AppID) throws -> Bool {
        guard let shared = try tx.events.epochs(of: app).sharedCount(with: place.epoch) else {
            return false
        }
        // Each mark begins a later epoch.
        let last = try tx.events.lastSequence(of: app)
        return shared != .max || place.sequence <= last
    }
}

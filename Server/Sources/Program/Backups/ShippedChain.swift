import Foundation
import StorageSQLite

/// How far the changes of a database have been shipped: a file beside the database, which says to
/// all programs that only the server moves what is in the write-ahead log. The file is empty as
/// long as the server has not made the backup after which changes are shipped.
///
/// If a power failure brings an older version of the file back, changes are shipped twice, which
/// does no harm; if the file is damaged, another backup is made.
struct ShippedChain: Hashable, Sendable {
    /// The name of the backup that the changes follow.
    var backup: String
    /// The number of the next file with changes.
    var number: Int
    /// The place in the write-ahead log up to which changes have been shipped.
    var place: WriteAheadLog.Place
    /// The database file after everything before the place was moved into it, so that the log may
    /// begin again. Nil if not everything was moved.
    ///
    /// If the file is the same when the log has begun again, nothing was moved between: so no
    /// transaction was appended behind the place and then overwritten.
    var moved: DatabaseFile?

    var isMoved: Bool { moved != nil }

    /// What changes whenever something is moved out of the log into the database file.
    struct DatabaseFile: Hashable, Sendable {
        /// The size of the file, in bytes.
        var bytes: Int64
        /// When the file was written, in microseconds since 1970.
        var writtenAt: Int64
    }

    /// The path of the file of a database.
    static func path(of database: String) -> String {
        Disk.resolvedName(database) + SQLiteFile.shippedSuffix
    }

    /// Makes the file if it does not exist, before the database is opened.
    static func begin(of database: String) throws {
        let path = path(of: database)
        guard !Disk.exists(path) else { return }
        try FileManager.default.createDirectory(
            atPath: Disk.folder(of: path), withIntermediateDirectories: true)
        try Disk.make(path)
    }

    /// Deletes the file: from now on, SQLite moves what is in the log by itself. Idempotent.
    static func remove(of database: String) { unlink(path(of: database)) }

    /// Reads the file. Returns nil if it says nothing.
    init?(of database: String) {
        guard let bytes = FileManager.default.contents(atPath: Self.path(of: database)) else {
            return nil
        }
        let words = String(decoding: bytes, as: UTF8.self).split(separator: " ").map(String.init)
        guard words.count == 6, let number = Int(words[1]), let salts = UInt64(words[2]),
            let frames = UInt32(words[3]), let checksum = UInt64(words[4])
        else { return nil }
        self.init(
            backup: words[0], number: number,
            place: WriteAheadLog.Place(salts: salts, frames: frames, checksum: checksum),
            moved: DatabaseFile(text: words[5]))
    }

    init(backup: String, number: Int, place: WriteAheadLog.Place, moved: DatabaseFile?) {
        (self.backup, self.number) = (backup, number)
        (self.place, self.moved) = (place, moved)
    }

    /// Replaces the file in one step. The file always exists.
    static func write(_ chain: ShippedChain?, of database: String) throws {
        let path = path(of: database)
        let text = chain.map { chain in
            "\(chain.backup) \(chain.number) \(chain.place.salts) \(chain.place.frames) "
                + "\(chain.place.checksum) \(chain.moved?.text ?? "open")\n"
        }
        let fresh = path + ".new"
        unlink(fresh)
        try Disk.make(fresh)
        try Data((text ?? "").utf8).write(to: URL(fileURLWithPath: fresh))
        try Disk.rename(fresh, to: path)
    }
}

extension ShippedChain.DatabaseFile {
    /// Reads what the file of a database is now. Returns nil if there is none.
    init?(of database: String) {
        let path = Disk.resolvedName(database)
        guard let found = try? FileManager.default.attributesOfItem(atPath: path),
            let bytes = found[.size] as? NSNumber, let date = found[.modificationDate] as? Date
        else { return nil }
        self.init(
            bytes: bytes.int64Value, writtenAt: Int64(date.timeIntervalSince1970 * 1_000_000))
    }

    fileprivate init?(text: String) {
        let parts = text.trimmingCharacters(in: .newlines).split(separator: ":")
        guard parts.count == 3, parts[0] == "moved", let bytes = Int64(parts[1]),
            let writtenAt = Int64(parts[2])
        else { return nil }
        self.init(bytes: bytes, writtenAt: writtenAt)
    }

    fileprivate var text: String { "moved:\(bytes):\(writtenAt)" }
}

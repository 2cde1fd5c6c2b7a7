import BucketClient
import Foundation
import Ledger
import StorageSQLite

/// Says which server uploads to a bucket: an object in the bucket, and a file beside the database,
/// contain the same random id.
///
/// The id is not in the database. So a copy of the database, or a restored one, does not have it,
/// and its server neither adds to the backups of the original nor deletes them.
struct BucketOwner: Sendable {
    /// The end of the name of the file beside the database.
    static let suffix = ".bucket"
    /// The maximum size of the object and of the file, in bytes.
    private static let bytesMax: Int64 = 1_000

    let client: BucketClient
    /// The path of the database.
    let database: String

    private var address: BucketAddress { client.access.address }
    private var path: String { Disk.resolvedName(database) + Self.suffix }

    /// The id in the file beside the database. Nil if the database is new to the bucket.
    ///
    /// - Throws: ``StartFailure`` if the file cannot be read.
    func id() throws -> String? {
        guard Disk.exists(path) else { return nil }
        guard BackupCopy.size(path) <= Self.bytesMax,
            let bytes = FileManager.default.contents(atPath: path)
        else {
            throw StartFailure(
                "\(path) cannot be read.", remedy: "Let the server's user read it.")
        }
        let id = String(decoding: bytes, as: UTF8.self).trimmingCharacters(in: .newlines)
        return id.isEmpty ? nil : id
    }

    /// Writes a new id to the file beside the database.
    private func makeID() throws -> String {
        let id = UUID().uuidString
        try Disk.replace(path, with: Data("\(id)\n".utf8))
        return id
    }

    /// Makes sure that this server is the one that uploads to the bucket. Takes a bucket without
    /// backups for it.
    ///
    /// - Returns: whether the bucket belonged to no server before.
    /// - Throws: ``StartFailure`` if the bucket has the backups of another database or server.
    func claim() async throws -> Bool {
        // Unlike the answer about one object, that to a list says what is wrong with a key.
        let (objects, folders) = try await client.contents()
        let found = try await object()
        if let found {
            try await requireDatabase(in: found)
            guard let id = try self.id(), try await text(id) == found else { throw otherServer }
            return false
        }
        let isEmpty =
            objects.allSatisfy { BackupFolder.moment(of: $0.name) == nil }
            && folders.allSatisfy { BucketPlan.moment(ofFolder: $0) == nil }
        guard isEmpty else {
            throw StartFailure(
                "\(address) has backups, but no \(BackupFolder.ownerName) that says whose.",
                remedy: "Name another prefix under `bucket:`, or, if they are of this database, "
                    + takeOverRemedy)
        }
        try await write(try id() ?? makeID())
        return true
    }

    /// Makes this database's server the one that uploads to the bucket. A server that did so
    /// before stops doing it within an hour.
    ///
    /// - Throws: ``StartFailure`` if the bucket has the backups of another database.
    func replace() async throws {
        _ = try await client.contents()
        if let found = try await object() { try await requireDatabase(in: found) }
        try await write(makeID())
    }

    private func object() async throws -> String? {
        try await client.bytes(of: BackupFolder.ownerName, atMost: Self.bytesMax)
            .map { String(decoding: $0, as: UTF8.self) }
    }

    private func write(_ id: String) async throws {
        try await client.write(Array(try await text(id).utf8), as: BackupFolder.ownerName)
    }

    private var databaseText: String {
        get async throws {
            BackupFolder.ownerText(ofDatabaseMade: try await SQLiteFile(database).madeAt)
        }
    }

    private func text(_ id: String) async throws -> String {
        try await databaseText + "They are uploaded by the server with the id \(id).\n"
    }

    private func requireDatabase(in text: String) async throws {
        guard try await !text.hasPrefix(databaseText) else { return }
        throw StartFailure(
            "\(address) has the backups of another database.",
            remedy: "Name another prefix under `bucket:`. Nothing was changed there.")
    }

    private var otherServer: StartFailure {
        StartFailure(
            "\(address) has the backups of another server on this database, or on the database "
                + "of which this one is a copy.",
            remedy: "Name another prefix under `bucket:`, or, if the other server is gone for "
                + "good, " + takeOverRemedy)
    }

    private var takeOverRemedy: String {
        "stop this one, run `perennial restore \(address) --take-over --database \(database)`, "
            + "and start it. Nothing was changed there."
    }
}

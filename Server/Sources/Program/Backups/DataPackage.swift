import Foundation
import Ledger
import Storage
import StorageSQLite

/// A folder with everything that a server stores: its database as one SQLite file, its
/// configuration, its list of erasures, and the checksums of these files.
///
/// The checksums are written last, so a folder without them is incomplete, and is refused.
struct DataPackage {
    static let databaseName = "perennial.sqlite"
    static let configurationName = "perennial.yaml"
    /// A server that uses the package's database looks for the list under this name.
    static let erasuresName = databaseName + ErasureFile.suffix
    static let readmeName = "README.txt"
    static let checksumsName = "SHA256SUMS"
    /// The files with a checksum.
    private static let contentNames = [
        databaseName, configurationName, erasuresName, readmeName,
    ]
    /// The maximum size of the file with the checksums, in bytes.
    private static let checksumsBytesMax = 65_536

    let folder: String

    var database: String { path(of: Self.databaseName) }
    var configuration: String { path(of: Self.configurationName) }
    var erasures: String { path(of: Self.erasuresName) }

    private func path(of name: String) -> String { "\(folder)/\(name)" }

    /// The files and the database from which a package is made.
    struct Source {
        /// The address of the database.
        var database: String
        /// The file with the configuration.
        var configuration: String
        /// The list of erasures. Nil if there is none.
        var erasures: ErasureFile?
    }

    /// What a package contains.
    struct Contents {
        var database: DatabaseContents
        /// The number of lines of the list of erasures. Nil if there is no list.
        var erasureLines: Int?
    }

    // MARK: - Writing

    /// Writes the package into a new or empty folder. A server may use a SQLite file at the same
    /// time. If the database is a PostgreSQL, all its servers must have stopped, as for `migrate`.
    ///
    /// - Throws: ``StartFailure``. Then none of the package's files is left behind.
    func write(
        _ source: Source, progress: @escaping @Sendable (CopyProgress) -> Void = { _ in }
    ) async throws -> Contents {
        // A package without its list would bring erased people back.
        let lines = try source.erasures?.examine().lines
        let isNew = try makeFolder()
        do {
            let contents = try await copyDatabase(source.database, progress)
            try Disk.replace(configuration, with: try Self.bytes(of: source.configuration))
            if let lines {
                try Disk.replace(erasures, with: Data(ErasureFile.text(lines).utf8))
            }
            try Disk.replace(path(of: Self.readmeName), with: Data(Self.readme.utf8))
            try Disk.replace(path(of: Self.checksumsName), with: Data(try checksums().utf8))
            try Disk.syncFolder(of: folder)
            return Contents(database: contents, erasureLines: lines?.count)
        } catch {
            remove()
            if isNew { rmdir(folder) }
            throw error
        }
    }

    /// - Returns: whether the folder is new.
    private func makeFolder() throws(StartFailure) -> Bool {
        guard Disk.exists(folder) else {
            guard mkdir(folder, 0o700) == 0 else { throw Disk.failure(folder) }
            return true
        }
        let names = try? FileManager.default.contentsOfDirectory(atPath: folder)
        if let names, names.isEmpty { return false }
        let isOurs =
            names?.contains(Self.checksumsName) == false
            && names?.allSatisfy { $0.hasPrefix(Self.databaseName) } == true
        throw StartFailure(
            isOurs
                ? "\(folder) has an incomplete package: an export was killed."
                : "\(folder) exists already, and is no empty folder.",
            remedy: isOurs
                ? "Delete the folder, which contains personal data, and export again."
                : "Name a folder that does not exist yet.")
    }

    private func copyDatabase(
        _ address: String, _ progress: @escaping @Sendable (CopyProgress) -> Void
    ) async throws -> DatabaseContents {
        guard DatabaseAddress.isServer(address) else {
            try BackupCommand.requireFile(address, for: database)
            defer { unlink(database + DatabaseUse.suffix) }
            return try await BackupCopy(of: address).make(at: database)
        }
        let part = database + ".copying"
        defer {
            BackupCopy.remove(part)
            unlink(part + DatabaseUse.suffix)
        }
        _ = try await Migration(from: address, to: part).run(progress: progress)
        return try await BackupCopy(of: part).make(at: database)
    }

    private static func bytes(of path: String) throws(StartFailure) -> Data {
        do { return try Data(contentsOf: URL(fileURLWithPath: path)) } catch {
            throw StartFailure(
                "\(path) cannot be read.", remedy: "Run the command as the server's user.")
        }
    }

    private func checksums() throws -> String {
        try Self.contentNames.filter { Disk.exists(path(of: $0)) }.map {
            "\(try FileDigest.sha256(of: path(of: $0)))  \($0)\n"
        }.joined()
    }

    private func remove() {
        for name in Self.contentNames + [Self.checksumsName] {
            unlink(path(of: name))
            unlink(path(of: name) + ".new")
        }
    }

    private static let readme = """
        Everything that a Perennial server stores.

        \(databaseName)
            The database as one SQLite file: signed documents, customers, ids, grants, wallets,
            events, keys, and all rows derived from them. docs/sql.md describes its views.
        \(configurationName)
            The configuration. The files that it names, such as keys of the App Store, and
            environment variables are not in this folder.
        \(erasuresName)
            The people who were erased, as keyed hashes, if there is a list.
        \(checksumsName)
            The SHA-256 of each file: sha256sum -c \(checksumsName)

        Read it into a new database:

          perennial migrate --from THIS-FOLDER --to NEW.sqlite
          perennial migrate --from THIS-FOLDER --to postgres://USER@HOST/NAME

        The folder contains personal data and keys. Keep it as you keep your backups.

        """

    // MARK: - Reading

    static func isFolder(_ path: String) -> Bool {
        var isDirectory: ObjCBool = false
        return FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory)
            && isDirectory.boolValue
    }

    /// - Throws: ``StartFailure`` if the path is the database file of a package: opening it would
    ///   change it, and the rest of the package would be ignored.
    static func requireFolder(_ path: String) throws(StartFailure) {
        let folder = Disk.folder(of: path)
        guard URL(fileURLWithPath: path).lastPathComponent == databaseName,
            [readmeName, checksumsName].allSatisfy({ Disk.exists("\(folder)/\($0)") })
        else { return }
        throw StartFailure(
            "\(path) is part of a package.",
            remedy: "Name the folder of the package instead: --from \(folder)")
    }

    /// Copies the package's database into an empty database. The server that made the package may
    /// have continued to run. So the log of the copy gets a new epoch, in which that server's
    /// cursors are not valid, and the webhooks of the copy are paused.
    ///
    /// - Returns: the total number of rows.
    /// - Throws: ``StartFailure`` if a file was changed or is missing.
    func copy(
        to address: String, at now: Instant,
        progress: @Sendable (CopyProgress) -> Void = { _ in }
    ) async throws -> Int {
        try requireOutside(address)
        let digests = try checkedDigests()
        let place = try TemporaryPlace(named: "package")
        defer { place.remove() }
        try requireRoom(in: place)
        // Opening a database changes its file, so a copy is opened.
        let copied = "\(place.folder)/\(Self.databaseName)"
        guard try FileDigest.copy(database, to: copied) == digests[Self.databaseName] else {
            throw changed(Self.databaseName)
        }
        // The list is copied before the database is complete, because no server may use the
        // database without the list.
        if DatabaseAddress.isFile(address), digests[Self.erasuresName] != nil {
            let list = ErasureFile(path: Disk.resolvedName(address) + ErasureFile.suffix)
            try list.add(try ErasureFile.contents(of: erasures).lines)
        }
        try await prepare(copied, at: now)
        try Task.checkCancellation()
        return try await Migration(from: copied, to: address).run(progress: progress)
    }

    private func prepare(_ copied: String, at now: Instant) async throws {
        let store = Database(try DatabaseAddress.open(copied, mayCreate: false))
        defer { store.driver.close() }
        do {
            try await store.migrate(at: now.milliseconds)
            try await store.transaction { tx in try tx.webhooks.pauseAll(since: now) }
            _ = try await store.beginEpoch(at: now)
        } catch {
            throw StartFailure(
                "\(database) cannot be used: \(error).",
                remedy: "Use this or a later version of Perennial than the one that wrote it.")
        }
    }

    /// Opening a database in the package would change the package.
    private func requireOutside(_ address: String) throws(StartFailure) {
        guard DatabaseAddress.isFile(address) else { return }
        let target = FileStatus(path: Disk.folder(of: Disk.resolvedName(address)))
        guard let own = FileStatus(path: folder), target?.isSameFile(as: own) == true else {
            return
        }
        throw StartFailure(
            "\(address) is in the package itself.",
            remedy: "Name a new file outside of \(folder) with --to.")
    }

    private func requireRoom(in place: TemporaryPlace) throws(StartFailure) {
        try Disk.requireRoom(
            for: BackupCopy.size(database), in: place.folder, "a copy of the database needs",
            remedy: "Name a folder on a larger disk with the variable TMPDIR.")
    }

    /// The SHA-256 of each file, by its name.
    ///
    /// - Throws: ``StartFailure`` if the checksums are missing, or do not fit the files.
    func checkedDigests() throws -> [String: String] {
        let sums = path(of: Self.checksumsName)
        guard let text = Disk.text(of: sums, bytesMax: Self.checksumsBytesMax) else {
            throw StartFailure(
                "\(folder) has no \(Self.checksumsName), so it is no complete package.",
                remedy: "Name a folder that `perennial export package` has written to its end.")
        }
        var digests: [String: String] = [:]
        for line in text.split(whereSeparator: \.isNewline) {
            let words = line.split(separator: " ").map(String.init)
            guard words.count == 2, Self.contentNames.contains(words[1]),
                try isIntact(words[1], words[0])
            else { throw changed(words.last ?? Self.checksumsName) }
            digests[words[1]] = words[0]
        }
        let needed = [Self.databaseName, Self.configurationName]
        let unlisted = Self.contentNames.first { name in
            digests[name] == nil && (needed.contains(name) || Disk.exists(path(of: name)))
        }
        if let unlisted { throw changed(unlisted) }
        return digests
    }

    private func isIntact(_ name: String, _ digest: String) throws -> Bool {
        do { return try FileDigest.sha256(of: path(of: name)) == digest } catch is CancellationError
        {
            throw CancellationError()
        } catch { return false }
    }

    private func changed(_ name: String) -> StartFailure {
        StartFailure(
            "\(folder)/\(name) is missing, or was changed after the package was written.",
            remedy: "Copy the package again, or write a new one.")
    }
}

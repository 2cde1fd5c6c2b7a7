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
    /// A server that uses the package's database finds the list by this name.
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

    /// What a package is made of.
    struct Source {
        /// The address of the database.
        var database: String
        /// The file with the configuration.
        var configuration: String
        /// The list of erasures. Nil if there is none.
        var erasures: String?
    }

    // MARK: - Writing

    /// Writes the package into a new or empty folder. A server may use a SQLite file meanwhile; all
    /// servers of a PostgreSQL must have stopped, as for `migrate`.
    ///
    /// - Throws: ``StartFailure``. Then none of the package's files is left behind.
    func write(
        _ source: Source, progress: @escaping @Sendable (CopyProgress) -> Void = { _ in }
    ) async throws -> DatabaseContents {
        try makeFolder()
        do {
            let contents = try await copyDatabase(source.database, progress)
            try Disk.replace(configuration, with: try Self.bytes(of: source.configuration))
            if let list = source.erasures, Disk.exists(list) {
                try Disk.replace(erasures, with: try Self.bytes(of: list))
            }
            try Disk.replace(path(of: Self.readmeName), with: Data(Self.readme.utf8))
            try Disk.replace(path(of: Self.checksumsName), with: Data(try checksums().utf8))
            return contents
        } catch {
            remove()
            throw error
        }
    }

    private func makeFolder() throws(StartFailure) {
        let files = FileManager.default
        if Disk.exists(folder) {
            guard let names = try? files.contentsOfDirectory(atPath: folder), names.isEmpty else {
                throw StartFailure(
                    "\(folder) exists already, and is no empty folder.",
                    remedy: "Name a folder that does not exist yet.")
            }
            return
        }
        guard mkdir(folder, 0o700) == 0 else { throw Disk.failure(folder) }
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
        rmdir(folder)
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

    /// Copies the package's database into an empty database, which gets a new epoch: the package's
    /// server may have gone on since, so its cursors are not valid in the copy.
    ///
    /// - Returns: the total number of rows.
    /// - Throws: ``StartFailure`` if a file was changed or is missing.
    func copy(
        to address: String, at now: Instant,
        progress: @Sendable (CopyProgress) -> Void = { _ in }
    ) async throws -> Int {
        try requireUnchanged()
        let place = try TemporaryPlace(named: "package")
        defer { place.remove() }
        // Opening a database changes its file, so a copy is opened.
        let copied = "\(place.folder)/\(Self.databaseName)"
        do { try FileManager.default.copyItem(atPath: database, toPath: copied) } catch {
            throw StartFailure(
                "\(database) cannot be copied to \(place.folder): \(error.localizedDescription).",
                remedy: "Name a folder on a disk with more space with the variable TMPDIR.")
        }
        let source = Database(try DatabaseAddress.open(copied))
        do {
            try await source.migrate(at: now.milliseconds)
            _ = try await source.beginEpoch(at: now)
        } catch {
            source.driver.close()
            throw StartFailure(
                "\(database) cannot be used: \(error).",
                remedy: "Use this or a later version of Perennial than the one that wrote it.")
        }
        source.driver.close()
        let count = try await Migration(from: copied, to: address).run(progress: progress)
        try copyErasures(to: address)
        return count
    }

    /// Puts the list of erasures beside the new database, where its server looks for it.
    private func copyErasures(to address: String) throws {
        guard Disk.exists(erasures), DatabaseAddress.isFile(address) else { return }
        let list = Disk.resolvedName(address) + ErasureFile.suffix
        guard !Disk.exists(list) else { return }
        try Disk.replace(list, with: try Self.bytes(of: erasures))
    }

    /// - Throws: ``StartFailure`` if the checksums are missing, or do not fit the files.
    func requireUnchanged() throws(StartFailure) {
        let sums = path(of: Self.checksumsName)
        let file = try? FileHandle(forReadingFrom: URL(fileURLWithPath: sums))
        defer { try? file?.close() }
        guard let data = try? file?.read(upToCount: Self.checksumsBytesMax),
            let text = String(validating: data, as: UTF8.self)
        else {
            throw StartFailure(
                "\(folder) has no \(Self.checksumsName), so it is no complete package.",
                remedy: "Name a folder that `perennial export package` has written to its end.")
        }
        let lines = text.split(whereSeparator: \.isNewline).map { $0.split(separator: " ") }
        var missing: Set = [Self.databaseName, Self.configurationName]
        for line in lines {
            guard line.count == 2, Self.contentNames.contains(String(line[1])),
                let found = try? FileDigest.sha256(of: path(of: String(line[1]))), found == line[0]
            else { throw changed(line.last.map(String.init) ?? Self.checksumsName) }
            missing.remove(String(line[1]))
        }
        if let name = missing.sorted().first { throw changed(name) }
    }

    private func changed(_ name: String) -> StartFailure {
        StartFailure(
            "\(folder)/\(name) is missing, or was changed after the package was written.",
            remedy: "Copy the package again, or write a new one.")
    }
}

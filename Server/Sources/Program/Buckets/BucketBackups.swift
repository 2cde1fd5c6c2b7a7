import BucketClient
import Foundation
import Ledger

/// The backups in a bucket, which are downloaded to be restored.
struct BucketBackups: Sendable {
    let client: BucketClient
    let now: Instant
    /// Gets lines about the progress.
    var progress: @Sendable (String) -> Void = { _ in }

    /// The number of files with changes that are downloaded at once.
    private static let downloadsAtOnce = 16

    private var address: BucketAddress { client.access.address }

    /// What was downloaded.
    struct Download: Sendable {
        /// The backup in the folder of the download.
        var backup: BackupFolder.Backup
        /// The address of the backup in the bucket.
        var address: String
        /// The changes after the backup; nil if only the backup was asked for.
        var changes: PointInTime?
        /// What is restored, in words.
        var sentence: String
    }

    /// Lists the backups, earliest first.
    ///
    /// - Parameter withChanges: whether the files with changes are listed, too.
    /// - Throws: ``StartFailure``; so does every function.
    func list(withChanges: Bool) async throws -> BackupList {
        try await naming {
            let (objects, folders) = try await client.contents()
            let names = Set(folders)
            var entries: [BackupList.Entry] = []
            for object in objects {
                guard let moment = BackupFolder.moment(of: object.name) else { continue }
                let path = address.description(of: object.name)
                var files: [ChangeFolder.File] = []
                let changes = ChangeFolder(of: path)
                let folder = String(changes.path.dropFirst("\(address)/".count))
                if withChanges, names.contains(folder) {
                    progress("listing \(changes.path)")
                    files = try await self.files(in: folder, of: changes)
                }
                entries.append((.init(at: moment, path: path, bytes: object.bytes), files))
            }
            return BackupList(
                place: "\(address)", entries: entries.sorted { $0.backup.at < $1.backup.at })
        }
    }

    private func files(
        in folder: String, of changes: ChangeFolder
    ) async throws -> [ChangeFolder.File] {
        try await client.contents(of: folder).objects.compactMap { object in
            var file = changes.file(named: String(object.name.dropFirst(folder.count + 1)))
            file?.bytes = object.bytes
            return file
        }.sorted { ($0.number, $0.moment) < ($1.number, $1.moment) }
    }

    // MARK: - Downloads

    /// Downloads the newest backup, or that of a name.
    func download(_ name: String?, into folder: String) async throws -> Download {
        let all = try await list(withChanges: false).entries.map(\.backup)
        let found =
            name.map { name in all.first { $0.path == address.description(of: name) } }
            ?? all.last { $0.at <= now }
        guard let found else {
            throw StartFailure(
                "There is no backup at \(name.map(address.description) ?? "\(address)").",
                remedy: "Name the bucket and the prefix of `bucket:`, or a backup in it.")
        }
        try requireRoom(for: found.bytes, in: folder)
        let backup = try await download(found, into: folder)
        return Download(
            backup: backup, address: found.path,
            sentence: "\(found.path), from \(found.at.minute)")
    }

    /// Downloads the backup before a moment, and the changes up to it.
    func download(
        at moment: String, into folder: String
    ) async throws -> Download {
        var point = try PointInTime(
            at: PointInTime.moment(moment), among: try await list(withChanges: true), now: now)
        let (sentence, path) = (point.sentence, point.backup.path)
        try requireRoom(
            for: point.files.reduce(point.backup.bytes) { $0 + $1.bytes }, in: folder)
        point.backup = try await download(point.backup, into: folder)
        let changes = ChangeFolder(of: point.backup.path)
        try FileManager.default.createDirectory(
            atPath: changes.path, withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o700])
        point.files = try await download(point.files, into: changes.path)
        return Download(
            backup: point.backup, address: path, changes: point, sentence: sentence)
    }

    private func requireRoom(for bytes: Int64, in folder: String) throws(StartFailure) {
        try Disk.requireRoom(
            for: bytes + BackupFolder.freeBytesMin, in: folder, "the download needs",
            remedy: "Make room there.")
    }

    private func download(
        _ backup: BackupFolder.Backup, into folder: String
    ) async throws -> BackupFolder.Backup {
        var backup = backup
        let name = URL(fileURLWithPath: backup.path).lastPathComponent
        backup.path = "\(folder)/\(name)"
        let total = backup.bytes >> 20
        try await download(.init(name: name, bytes: backup.bytes), to: backup.path) { bytes in
            progress("\(bytes >> 20) of \(total) MiB downloaded")
        }
        return backup
    }

    /// Downloads several files at once, because most of them are small.
    private func download(
        _ files: [ChangeFolder.File], into folder: String
    ) async throws -> [ChangeFolder.File] {
        let local = files.map { file in
            var file = file
            file.path = "\(folder)/\(URL(fileURLWithPath: file.path).lastPathComponent)"
            return file
        }
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            for (index, (file, copy)) in zip(files, local).enumerated() {
                if index >= Self.downloadsAtOnce { try await tasks.next() }
                if index > 0, index.isMultiple(of: 1_000) {
                    progress("\(index) of \(files.count) files with changes downloaded")
                }
                let name = String(file.path.dropFirst("\(address)/".count))
                tasks.addTask {
                    try await download(.init(name: name, bytes: file.bytes), to: copy.path)
                }
            }
            try await tasks.waitForAll()
        }
        return local
    }

    private func download(
        _ object: BucketClient.Object, to path: String,
        progress: (Int64) -> Void = { _ in }
    ) async throws {
        try Disk.make(path)
        let file = open(path, O_WRONLY | O_APPEND | O_CLOEXEC)
        guard file >= 0 else { throw Disk.failure(path) }
        defer { close(file) }
        var written: Int64 = 0
        try await naming {
            try await client.download(object) { bytes in
                try Disk.write(bytes[...], to: file, of: path)
                written += Int64(bytes.count)
                progress(written)
            }
        }
    }

    // MARK: - Erasures

    /// The lines of the list of erasures beside the backups. Nil if there is no list.
    func erasures() async throws -> [String]? {
        try await naming {
            let bytes = try await client.bytes(
                of: ErasureFile.copyName, atMost: ErasureFile.bytesMax)
            return bytes.map { ErasureFile.contents(in: Data($0)).lines }
        }
    }

    private func naming<Value>(_ body: () async throws -> Value) async throws -> Value {
        do { return try await body() } catch let failure as BucketFailure {
            throw StartFailure(failure, in: address)
        }
    }
}

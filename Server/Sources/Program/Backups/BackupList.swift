import Ledger

/// The backups in a folder or a bucket, with the files of the changes after them.
struct BackupList: Sendable {
    typealias Entry = (backup: BackupFolder.Backup, changes: [ChangeFolder.File])

    /// The folder or the bucket, as messages name it. Every path begins with it.
    var place: String
    /// Earliest first.
    var entries: [Entry]

    init(place: String, entries: [Entry]) { (self.place, self.entries) = (place, entries) }

    /// - Throws: ``StartFailure`` if the folder cannot be read.
    init(of folder: BackupFolder) throws(StartFailure) {
        var entries: [Entry] = []
        for backup in try folder.backups() {
            entries.append((backup, try ChangeFolder(of: backup.path).files()))
        }
        self.init(place: folder.path, entries: entries)
    }
}

import Ledger
import Yams

/// When a server backs up its database, where to, and which backups it keeps.
package struct BackupSettings: Hashable, Sendable {
    /// The folder of the backups, as the configuration names it.
    package var folder: String
    /// The time from the beginning of one backup to that of the next.
    package var every = Duration.hours(24)
    package var keep = BackupRetention()

    static let keys: [Key<BackupSettings>] = [
        Key("folder"),
        Key("every_hours", \.every, in: 1...168) { .hours($0) },
        Key("keep", \.keep, BackupRetention.keys),
    ]
}

extension BackupSettings {
    /// Reads the mapping `backup`. Returns nil if it has no folder, which is a complaint.
    ///
    /// The folder need not exist: a server must start even if the disk of its backups is missing.
    init?(_ node: Node, by reader: inout ConfigurationReader) {
        self.init(folder: "")
        let found = reader.read(node, Self.keys, into: &self, in: "backup")
        guard let folder = found["folder"].flatMap(reader.nonEmptyText) else {
            reader.complain(
                found["folder"] ?? node, "backup has no folder.",
                "Name a folder, best on another disk: `folder: /var/backups/perennial`.")
            return nil
        }
        self.folder = folder
    }
}

extension BackupRetention {
    static let keys: [Key<BackupRetention>] = [
        Key("days", \.days, in: 1...366) { $0 },
        Key("weeks", \.weeks, in: 0...520) { $0 },
        Key("months", \.months, in: 0...1_200) { $0 },
    ]
}

import BucketClient
import Ledger
import Yams

/// When a server backs up its database, in which folder, and which backups it keeps.
package struct BackupSettings: Hashable, Sendable {
    /// The path of the backups' folder in the configuration.
    package var folder: String
    /// The time from the beginning of one backup to the beginning of the next one.
    package var every = Duration.hours(24)
    package var keep = BackupRetention()
    /// The public keys of age. If there is none, backups are not encrypted.
    package var recipients: [String] = []
    /// Whether the changes between backups are also copied to the folder ("shipped"), so that the
    /// state of any second can be restored.
    package var isContinuous = false
    /// The bucket that gets everything that is in the folder. Nil if there is none.
    package var bucket: BucketAccess?

    private static let recipientsMax = 10
    private static let recipientCharacters = 62

    static let keys: [Key<BackupSettings>] = [
        Key("folder"),
        Key("every_hours", \.every, in: 1...168) { .hours($0) },
        Key("keep", \.keep, BackupRetention.keys),
        Key("encrypt_to", \.recipients) { Self.recipients($1, by: &$0) },
        Key("point_in_time", \.isContinuous) { $0.bool($1) },
        Key("bucket", \.bucket) { $0.bucket($1) },
    ]
}

extension BackupSettings {
    /// Reads the mapping `backup`. Reports a complaint and returns nil if it has no folder.
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

    /// Reads public keys of age. Reports a complaint and returns nil if one of the texts is not
    /// such a key.
    private static func recipients(
        _ node: Node, by reader: inout ConfigurationReader
    ) -> [String]? {
        let keys = reader.names(node, of: "encrypt_to")
        let areKeys = keys.allSatisfy { key in
            key.hasPrefix("age1") && key.count == recipientCharacters
                && key.allSatisfy { $0.isASCII && ($0.isLowercase || $0.isNumber) }
        }
        guard areKeys, (1...recipientsMax).contains(keys.count) else {
            reader.complain(
                node, "encrypt_to needs 1 to \(recipientsMax) public keys of age.",
                "Make a key with `age-keygen -o backup.key`, keep that file elsewhere, and write "
                    + "its public key here: age1….")
            return nil
        }
        return keys
    }
}

extension BackupRetention {
    static let keys: [Key<BackupRetention>] = [
        Key("days", \.days, in: 1...366) { $0 },
        Key("weeks", \.weeks, in: 0...520) { $0 },
        Key("months", \.months, in: 0...1_200) { $0 },
    ]
}

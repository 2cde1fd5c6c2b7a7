import Ledger

/// What a bucket lacks, and what may be deleted from it.
///
/// Only the bucket's own contents decide what is deleted: a folder that was lost or emptied deletes
/// nothing. So the bucket has the backups that the folder would have if nothing had happened to it.
enum BucketPlan {
    /// The names of the backups to upload, latest first. Those that the bucket would delete at once
    /// are left out.
    static func uploads(
        local: some Sequence<String>, remote: Set<String>, keep: BackupRetention, at now: Instant
    ) -> [String] {
        let all = remote.union(local)
        let expired = expired(among: all, keep: keep, at: now)
        return all.subtracting(remote).subtracting(expired).sorted(by: >)
    }

    /// The names of the backups in the bucket that `keep` does not cover.
    static func expired(
        among backups: Set<String>, keep: BackupRetention, at now: Instant
    ) -> Set<String> {
        let moments = backups.compactMap { BackupFolder.moment(of: $0) }
        let expired = Set(keep.expired(among: moments, at: now))
        return backups.filter { BackupFolder.moment(of: $0).map(expired.contains) == true }
    }

    /// The names of the folders of changes in the bucket that are not kept any longer: those of
    /// expired backups, and those that were followed by another backup for long enough.
    ///
    /// - Parameter folders: names with the ending of such folders; others are not deleted.
    static func expired(
        folders: some Sequence<String>, backups: Set<String>, keep: BackupRetention, at now: Instant
    ) -> [String] {
        let gone = expired(among: backups, keep: keep, at: now)
            .compactMap { BackupFolder.moment(of: $0) }
        let moments = backups.compactMap { BackupFolder.moment(of: $0) }.sorted()
        return folders.filter { folder in
            guard let moment = moment(ofFolder: folder) else { return false }
            let next = moments.first { $0 > moment }
            return gone.contains(moment)
                || next.map { $0 < now - BackupWorker.changesKept } == true
        }
    }

    /// Whether an object is a backup or a file with changes, by its name.
    static func isFile(_ name: String) -> Bool {
        guard let end = name.firstIndex(of: "/") else {
            return BackupFolder.moment(of: name) != nil
        }
        return moment(ofFolder: String(name[..<end])) != nil
    }

    /// The time in the name of a folder of changes. Returns nil for any other name.
    static func moment(ofFolder name: String) -> Instant? {
        guard name.hasSuffix(ChangeFolder.suffix) else { return nil }
        return BackupFolder.moment(of: String(name.dropLast(ChangeFolder.suffix.count)))
    }
}

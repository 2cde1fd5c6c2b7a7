import Foundation
import Ledger

extension BucketMirror {
    /// Compares folder and bucket if that is due. Returns false if it failed.
    func compareIfDue() async -> Bool {
        let now = now()
        let isDue = state.withLock { state in
            // If the clock was set back, the time is counted from now.
            state.comparedAt = min(state.comparedAt, now)
            return state.compared < state.demanded
                || now - state.comparedAt >= Self.comparedEvery
        }
        guard isDue else { return true }
        return await compare()
    }

    /// Uploads the backups and the earlier changes that the bucket lacks, and deletes what it need
    /// not keep. Calls wait for each other. Returns false if it failed.
    func compare() async -> Bool {
        await line.lock(at: "backups")
        defer { line.unlock(at: "backups") }
        return await reporting(.backups) {
            let demanded = state.withLock { $0.demanded }
            try await claim()
            try await uploadMissingBackups()
            try await uploadEarlierChanges()
            try await deleteExpired()
            let now = now()
            state.withLock { ($0.compared, $0.comparedAt) = (demanded, now) }
        }
    }

    /// The names of the backups and of the folders of changes in the bucket.
    private func remoteNames() async throws -> (backups: Set<String>, folders: [String]) {
        let (objects, folders) = try await client.contents()
        let backups = Set(objects.map(\.name).filter { BackupFolder.moment(of: $0) != nil })
        state.withLock { $0.backups = backups }
        return (backups, folders)
    }

    private func localNames() throws -> [String] {
        // A folder that is not there, for example because its disk is missing, has nothing.
        guard Disk.exists(folder.path) else { return [] }
        return try folder.backups().map { URL(fileURLWithPath: $0.path).lastPathComponent }
    }

    private func uploadMissingBackups() async throws {
        let remote = try await remoteNames().backups
        let missing = BucketPlan.uploads(
            local: try localNames(), remote: remote, keep: keep, at: now())
        for name in missing { try await uploadBackup(name) }
    }

    private func uploadEarlierChanges() async throws {
        let backups = state.withLock { $0.backups ?? [] }
        let current = shipped?.backup
        let known = state.withLock { $0.complete }
        let folders = try localNames().filter { backups.contains($0) && $0 != current }
            .map { ChangeFolder(of: "\(folder.path)/\($0)") }
            .filter { Disk.exists($0.path) && !known.contains($0.path) }
        for changes in folders {
            let name = URL(fileURLWithPath: changes.path).lastPathComponent
            let isKept = BucketPlan.expired(
                folders: [name], backups: backups, keep: keep, at: now()
            ).isEmpty
            if isKept { try await uploadMissing(of: changes) }
            state.withLock { _ = $0.complete.insert(changes.path) }
        }
    }

    /// Deletes changes before their backup: without it, nothing would find them any more.
    private func deleteExpired() async throws {
        let (backups, folders) = try await remoteNames()
        let now = now()
        let expired = BucketPlan.expired(
            folders: folders, backups: backups, keep: keep, at: now)
        for folder in expired {
            try await client.delete(try await client.contents(of: folder).objects.map(\.name))
        }
        let gone = BucketPlan.expired(among: backups, keep: keep, at: now)
        try await client.delete(gone.sorted())
        state.withLock { $0.backups?.subtract(gone) }
    }
}

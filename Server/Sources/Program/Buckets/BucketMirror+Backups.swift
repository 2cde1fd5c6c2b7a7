import Foundation
import Ledger
import Logging

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
            try await claim(again: true)
            // What was deleted there by others is uploaded again.
            state.withLock { ($0.followed, $0.complete) = (nil, []) }
            try await uploadMissingBackups()
            try await uploadEarlierChanges()
            // Another server may have taken over meanwhile.
            try await claim(again: true)
            try await deleteExpired()
            let now = now()
            state.withLock { ($0.compared, $0.comparedAt) = (demanded, now) }
        }
    }

    /// The names of the backups and of the folders of changes in the bucket.
    private func remoteNames() async throws -> (backups: Set<String>, folders: [String]) {
        let (objects, folders) = try await client.contents()
        let backups = Set(objects.map(\.name).filter { BackupFolder.moment(of: $0) != nil })
        let hasErasures = objects.contains { $0.name == ErasureFile.copyName }
        state.withLock { state in
            state.backups = backups
            if !hasErasures { state.erasures = nil }
        }
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

    // MARK: - A new backup

    /// Uploads a new backup before changes follow it: until it is there, the bucket needs those
    /// that follow the former one. A failure is reported; a comparison then uploads the backup. If
    /// the upload takes too long, it goes on without being waited for.
    ///
    /// - Parameter mayWait: asked once a second whether changes can still go on after the former
    ///   backup.
    func upload(backup path: String, while mayWait: @escaping @Sendable () -> Bool) async {
        let name = URL(fileURLWithPath: path).lastPathComponent
        let upload = Task(executorPreference: globalConcurrentExecutor) {
            let isUploaded = await self.reporting(.backups) {
                try await self.claim()
                try await self.uploadBackup(name)
            }
            if !isUploaded { self.compareSoon() }
            self.state.withLock { $0.uploads[name] = nil }
        }
        state.withLock { $0.uploads[name] = upload }
        let began = ContinuousClock.now
        while await !TimeLimit.waits(Self.pause, for: { await upload.value }) {
            guard !Task.isCancelled else { return upload.cancel() }
            guard mayWait(), ContinuousClock.now - began < Self.backupWaitMax else {
                return report(
                    StartFailure(
                        "\(name) could not be uploaded before changes had to follow it.",
                        remedy: "The upload goes on. Check how fast the network is."),
                    of: .backups)
            }
        }
        state.withLock { $0.uploads[name] = nil }
    }

    /// Uploads a backup, unless the bucket has it. Calls for one backup wait for each other.
    func uploadBackup(_ name: String) async throws {
        await line.lock(at: name)
        defer { line.unlock(at: name) }
        guard state.withLock({ $0.backups?.contains(name) != true }) else { return }
        let began = ContinuousClock.now
        guard try await upload(name) else { return }
        state.withLock { _ = $0.backups?.insert(name) }
        logger.notice(
            "a backup was uploaded to the bucket",
            metadata: [
                "name": .string(name),
                "seconds": "\((ContinuousClock.now - began).components.seconds)",
            ])
    }
}

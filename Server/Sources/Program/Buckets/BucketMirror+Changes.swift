import Foundation
import Ledger

extension BucketMirror {
    /// Uploads the list of erasures and the changes that were written since. Calls wait for each
    /// other. Returns false if it failed.
    func uploadChanges() async -> Bool {
        await line.lock(at: "changes")
        defer { line.unlock(at: "changes") }
        return await reporting(.changes) {
            // What is shipped later belongs to the next call.
            let shipped = shipped
            let began = shipped?.at ?? now()
            // If the clock was set back, the lag is counted from now.
            state.withLock { $0.uploadedAt = min($0.uploadedAt, now()) }
            try await claim()
            // A person who is erased must not come back with the changes of before.
            try await uploadErasures()
            try await uploadWaiting()
            if let backup = shipped?.backup { try await follow(ChangeFolder(of: backup).path) }
            guard hasBackups(following: shipped) else { return }
            state.withLock { $0.uploadedAt = max($0.uploadedAt, began) }
        }
    }

    /// Whether what was uploaded can be restored.
    private func hasBackups(following shipped: Shipped?) -> Bool {
        state.withLock { state in
            guard let shipped else {
                return state.backups != nil && state.compared == state.demanded
            }
            return shipped.backup.map { state.backups?.contains($0) == true } ?? false
        }
    }

    /// Uploads the files of a folder of changes that were written before the worker followed it.
    ///
    /// - Parameter name: the name of the folder.
    private func follow(_ name: String) async throws {
        guard state.withLock({ $0.followed != name }) else { return }
        let backup = String(name.dropLast(ChangeFolder.suffix.count))
        let uploaded = try await uploadMissing(of: ChangeFolder(of: "\(folder.path)/\(backup)"))
        state.withLock { state in
            state.waiting.removeAll { uploaded.contains($0) }
            state.followed = name
        }
    }

    /// Uploads the files of a folder that the bucket lacks, in their order, so that no restore finds
    /// a gap. Returns the names of all its files.
    @discardableResult
    func uploadMissing(of changes: ChangeFolder) async throws -> Set<String> {
        let name = URL(fileURLWithPath: changes.path).lastPathComponent
        let found = Set(try await client.contents(of: name).objects.map(\.name))
        let files = try changes.files().map {
            "\(name)/\(URL(fileURLWithPath: $0.path).lastPathComponent)"
        }
        for file in files where !found.contains(file) { try await upload(file) }
        return Set(files)
    }

    /// Uploads the files that wait, in their order. A file may wait although earlier ones of its
    /// folder were not uploaded before the server was killed: these come first.
    private func uploadWaiting() async throws {
        while let next = state.withLock({ $0.waiting.first }) {
            let name = String(next.prefix { $0 != "/" })
            guard state.withLock({ $0.followed == name }) else {
                try await follow(name)
                continue
            }
            try await upload(next)
            state.withLock { state in
                // The list may have been emptied meanwhile.
                if state.waiting.first == next { state.waiting.removeFirst() }
            }
        }
    }

    // MARK: - The list of erasures

    /// What changes whenever the list is written.
    struct ErasureStamp: Hashable {
        private let (bytes, writtenAt, number): (Int64, Int64, UInt64)

        /// Returns nil if there is no list.
        init?(_ path: String) {
            var found = stat()
            guard stat(path, &found) == 0 else { return nil }
            bytes = Int64(found.st_size)
            writtenAt = Int64(found.st_mtim.tv_sec) * 1_000_000_000 + Int64(found.st_mtim.tv_nsec)
            number = UInt64(found.st_ino)
        }
    }

    /// Adds to the list in the bucket what only the folder has. Erasures are removed from it only
    /// if no backup in the bucket can bring the person back, whatever the folder has.
    private func uploadErasures() async throws {
        let path = "\(folder.path)/\(ErasureFile.copyName)"
        guard let stamp = ErasureStamp(path), state.withLock({ $0.erasures != stamp }) else {
            return
        }
        let own = try ErasureFile.contents(of: path).all
        let bytes = try await client.bytes(
            of: ErasureFile.copyName, atMost: ErasureFile.bytesMax)
        let there = ErasureFile.contents(in: Data(bytes ?? [])).all
        let kept = merged(there, own)
        if kept != there {
            try await client.put(Array(ErasureFile.text(kept).utf8), as: ErasureFile.copyName)
        }
        state.withLock { $0.erasures = stamp }
    }

    private func merged(_ there: [String], _ own: [String]) -> [String] {
        let known = Set(there)
        let all = there + own.filter { !known.contains($0) }
        let backups = state.withLock { $0.backups }
        // Before the first comparison, no backup is known.
        guard let earliest = backups?.compactMap({ BackupFolder.moment(of: $0) }).min() else {
            return all
        }
        return ErasureFile.kept(of: all, since: min(earliest, now() - ErasureFile.keptMin))
    }
}

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
            try await uploadErasures()
            try await uploadWaiting()
            if let backup = shipped?.backup { try await follow(ChangeFolder(of: backup).path) }
            guard isWhole(following: shipped) else { return }
            state.withLock { $0.uploadedAt = max($0.uploadedAt, began) }
        }
    }

    /// Whether everything was uploaded and can be restored.
    private func isWhole(following shipped: Shipped?) -> Bool {
        state.withLock { state in
            guard state.problems[.backups] == nil else { return false }
            guard let shipped else {
                return state.backups != nil && state.compared == state.demanded
            }
            guard let backup = shipped.backup else { return false }
            return state.followed == ChangeFolder(of: backup).path
                && state.backups?.contains(backup) == true
        }
    }

    /// Uploads the files of a folder of changes that were written before the worker followed it.
    ///
    /// - Parameter name: the name of the folder.
    private func follow(_ name: String) async throws {
        let (followed, overflows) = state.withLock { ($0.followed, $0.overflows) }
        guard followed != name else { return }
        let backup = String(name.dropLast(ChangeFolder.suffix.count))
        let uploaded = try await uploadMissing(of: ChangeFolder(of: "\(folder.path)/\(backup)"))
        guard let uploaded else { return await leave(name) }
        state.withLock { state in
            state.waiting.removeAll { uploaded.contains($0) }
            // Files that did not fit into memory meanwhile are still to be found on the disk.
            if state.overflows == overflows { state.followed = name }
        }
    }

    /// Uploads nothing more of a folder of changes that goes on differently in the bucket. The next
    /// changes follow a new backup, in a folder of their own.
    private func leave(_ name: String) async {
        state.withLock { state in state.waiting.removeAll { $0.hasPrefix(name + "/") } }
        guard let backup = shipped?.backup, ChangeFolder(of: backup).path == name else { return }
        await state.withLock { $0.abandon }?(backup)
    }

    /// Uploads the files of a folder that the bucket lacks, in their order, so that no restore
    /// finds a gap. Returns the names of all its files.
    ///
    /// Returns nil, and uploads nothing, if the bucket has files that the folder lacks: then the
    /// disk of the folder was set back, for example to a snapshot. What follows now must not be
    /// mixed with what followed then.
    @discardableResult
    func uploadMissing(of changes: ChangeFolder) async throws -> Set<String>? {
        let name = URL(fileURLWithPath: changes.path).lastPathComponent
        let found = Set(
            try await client.contents(of: name).objects.map(\.name).filter { object in
                changes.file(named: String(object.dropFirst(name.count + 1))) != nil
            })
        let files = try changes.files().map {
            "\(name)/\(URL(fileURLWithPath: $0.path).lastPathComponent)"
        }
        guard found.isSubset(of: files) else { return nil }
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

    /// Adds to the list in the bucket what only this machine has. Erasures are removed from it only
    /// if no backup in the bucket can bring the person back, whatever this machine has. A list is
    /// written even if it is empty, so that a restore notices that one is missing.
    func uploadErasures() async throws {
        await line.lock(at: "erasures")
        defer { line.unlock(at: "erasures") }
        let stamps = erasureFiles.map { ErasureStamp($0) }
        guard state.withLock({ $0.erasures != stamps }) else { return }
        let own = try erasureFiles.flatMap { try ErasureFile.contents(of: $0).all }
        let bytes = try await client.bytes(
            of: ErasureFile.copyName, atMost: ErasureFile.bytesMax)
        let there = ErasureFile.contents(in: Data(bytes ?? [])).all
        let kept = merged(there, own)
        if bytes == nil || kept != there {
            try await client.write(Array(ErasureFile.text(kept).utf8), as: ErasureFile.copyName)
        }
        state.withLock { $0.erasures = stamps }
    }

    private func merged(_ there: [String], _ own: [String]) -> [String] {
        var known = Set(there)
        let all = there + own.filter { known.insert($0).inserted }
        let backups = state.withLock { $0.backups }
        // Before the first comparison, no backup is known.
        guard let earliest = backups?.compactMap({ BackupFolder.moment(of: $0) }).min() else {
            return all
        }
        return ErasureFile.kept(of: all, since: min(earliest, now() - ErasureFile.keptMin))
    }
}

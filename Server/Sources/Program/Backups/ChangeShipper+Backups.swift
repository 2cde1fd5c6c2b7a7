import Foundation
import Logging
import Storage
import StorageSQLite

extension ChangeShipper {
    /// Makes a backup that later changes follow. Until the new backup is complete, changes are
    /// still shipped to the folder of the former backup.
    ///
    /// - Parameter make: makes a backup in which each page keeps its number, and returns its path.
    /// - Throws: ``StartFailure`` if the backup cannot be made, or if changes cannot be shipped
    ///   after this backup.
    func backUp<Value: Sendable>(
        _ make: () async throws -> (file: String, Value)
    ) async throws -> (file: String, Value) {
        let former = try await beginCopy()
        defer { state.withLock { $0.isCopying = false } }
        let made = try await make()
        do { try await completeCopy(of: made.file, after: former) } catch let gap as Gap {
            let now = now()
            state.withLock { if $0.chain == nil { $0.pauses.add(at: now) } }
            throw StartFailure(
                "The changes after the backup \(made.file) cannot be shipped: \(gap.reason).",
                remedy: "The backup itself can be used. The server tries again with another one.")
        }
        return made
    }

    /// Returns a chain that ends where the log ends now.
    private func beginCopy() async throws -> ShippedChain {
        await line.lock()
        defer { line.unlock() }
        if state.withLock({ $0.chain != nil }) {
            do { try await shipAll(asOf: now()) } catch let gap as Gap { abandon(gap) }
        }
        if let chain = state.withLock({ $0.chain }) {
            state.withLock { $0.isCopying = true }
            return chain
        }
        // SQLite restarts the log only after the last change in it has been moved into the database
        // file.
        try await writeSomething()
        guard let end = try log.changes(after: nil, collecting: false)?.end else {
            throw StorageFailure("the write-ahead log is missing")
        }
        state.withLock { $0.isCopying = true }
        return ShippedChain(backup: "", number: 1, place: end, moved: nil)
    }

    /// Appends to the write-ahead log, by a transaction that changes a row and then changes it
    /// back. Two changes are necessary, because SQLite does not write a page whose content stays
    /// the same.
    private func writeSomething() async throws {
        try await driver.write { connection in
            for change in ["+ 1", "- 1"] {
                _ = try connection.run(
                    "UPDATE schema_versions SET applied_at_ms = applied_at_ms \(change)", [])
            }
        }
    }

    private func completeCopy(of file: String, after former: ShippedChain) async throws {
        await line.lock()
        defer { line.unlock() }
        var chain = former
        (chain.backup, chain.number) = (URL(fileURLWithPath: file).lastPathComponent, 1)
        let began = now()
        let changes = try changes(after: chain)
        // The first file is written even if nothing has changed, because point-in-time restores
        // with this backup need it.
        try await ship(changes, after: chain)
        state.withLock { state in
            state.isNumbered = true
            state.pauses.begin(at: began)
        }
        if !changes.hasMore { state.withLock { $0.shippedAt = began } }
        reportSuccess()
        logger.notice(
            "the changes of the database are shipped after this backup",
            metadata: ["file": .string(file)])
    }

    /// Ships no more changes after a backup, because other ones after it are in the bucket.
    ///
    /// - Parameter backup: its name.
    func leave(_ backup: String) async {
        await line.lock()
        defer { line.unlock() }
        guard state.withLock({ $0.chain?.backup == backup }) else { return }
        abandon(
            Gap(
                reason: "the bucket has changes after \(backup) that the folder lacks, so the disk "
                    + "was set back"))
    }
}

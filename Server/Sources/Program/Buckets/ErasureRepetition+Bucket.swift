import Ledger
import Logging
import Synchronization

extension ErasureRepetition {
    /// The longest time for which a start waits for the list in a bucket.
    static let bucketMax = Duration.seconds(20)

    /// Adds the erasures that only the list in the bucket has to the list beside the database. Call
    /// it before the erasures are repeated: a restored database may contain people whom only that
    /// list names.
    ///
    /// - Parameter limit: the longest time to wait.
    /// - Throws: ``StartFailure`` if the list cannot be read, and the database is new to the
    ///   bucket. Otherwise this is only logged.
    func addErasures(of owner: BucketOwner, within limit: Duration = bucketMax) async throws {
        let backups = BucketBackups(client: owner.client, now: .machine)
        let found = Mutex<Result<[String]?, any Error>?>(nil)
        _ = await TimeLimit.waits(limit) {
            let result: Result<[String]?, any Error>
            do { result = .success(try await backups.erasures()) } catch {
                result = .failure(error)
            }
            found.withLock { $0 = result }
        }
        switch found.withLock({ $0 }) {
        case .success(let lines): try file.add(lines ?? [])
        case .failure(let error): try report("\(error)", of: owner)
        case nil: try report("No answer within \(limit.components.seconds) seconds.", of: owner)
        }
    }

    private func report(_ reason: String, of owner: BucketOwner) throws {
        guard try owner.id() == nil else {
            return logger.error(
                "the list of erasures in the bucket was not read",
                metadata: ["reason": .string(reason)])
        }
        throw StartFailure(
            "The list of erasures in \(owner.client.access.address) cannot be read: \(reason)",
            remedy: "Make the bucket readable, and start again. The server has not uploaded there "
                + "yet: if this database was restored, people who were erased may be in it.")
    }
}

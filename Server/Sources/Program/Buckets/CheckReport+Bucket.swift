import AsyncHTTPClient
import BucketClient
import Ledger
import OutgoingHTTP

extension CheckReport {
    /// Whether the bucket of the backups can be read, and how old its newest backup is. Nothing is
    /// written to it.
    mutating func checkBucket(of file: ConfigurationFile) async throws {
        guard let access = file.backup?.bucket else { return }
        let address = access.address
        do {
            let backups = try await HTTPClient.withHTTPClient(configuration: .withoutRedirects) {
                http in
                let client = BucketClient(
                    access, now: { .machine }, send: BucketClient.sender(http))
                return try await client.contents().objects
                    .compactMap { BackupFolder.moment(of: $0.name) }
            }
            let newest = backups.filter { $0 <= .machine }.max()
            let count = newest == nil ? "no backup yet" : "\(backups.count)"
            add(
                "bucket \(address): \(count)"
                    + (newest.map { ", the newest from \($0.minute)" } ?? ""),
                isOK: true)
        } catch let failure as BucketFailure {
            guard failure.isPassing else {
                return add("\(StartFailure(failure, in: address))", isOK: false)
            }
            // Without a network, the rest of the configuration can be checked all the same.
            append(note: "\(StartFailure(failure, in: address)) The bucket was not checked.")
        }
    }
}

import AsyncHTTPClient
import BucketClient
import Foundation
import Ledger
import OutgoingHTTP

extension RestoreCommand {
    /// Whether the named backup is in a bucket.
    var isFromBucket: Bool { file?.hasPrefix(BucketAddress.scheme) == true }

    /// Downloads from the bucket, restores, and deletes what was downloaded.
    func restoreFromBucket() async throws {
        let address = try options.address()
        try Self.requireFile(address)
        let place = try TemporaryPlace(named: "download", in: Disk.folder(of: address))
        defer { place.remove() }
        let found = try await download(into: place.folder) { backups in
            try await Self.addErasures(of: backups, to: erasures(of: address))
        }
        print(found.sentence)
        try await restore(found.backup.path, to: address, found.changes)
    }

    /// Makes the server of the database the one that uploads to the bucket.
    func replaceBucketOwner() async throws {
        let address = try options.address()
        try BackupCommand.requireFile(address, for: "FILE")
        let lock = try ServerLock.acquire(for: address)
        defer { lock?.release() }
        let access = try bucket().0
        do {
            try await HTTPClient.withHTTPClient(configuration: .withoutRedirects) { http in
                let client = BucketClient(
                    access, now: { .machine }, send: BucketClient.sender(http))
                try await BucketOwner(client: client, database: address).replace()
            }
        } catch let failure as BucketFailure { throw StartFailure(failure, in: access.address) }
        print("The server on \(address) uploads to \(access.address) from now on.")
    }

    /// A drill with what was downloaded from the bucket.
    func drillFromBucket(_ configuration: ConfigurationFile) async throws {
        let place = try TemporaryPlace(named: "download")
        defer { place.remove() }
        let found = try await download(into: place.folder)
        print(found.sentence)
        var drill = RestoreDrill(
            backup: found.backup, changes: found.changes, apps: configuration.apps, now: .machine,
            identity: identity)
        drill.address = found.address
        try await run(drill)
    }

    private func download(
        into folder: String, and more: (BucketBackups) async throws -> Void = { _ in }
    ) async throws -> BucketBackups.Download {
        let (access, name) = try bucket()
        return try await HTTPClient.withHTTPClient(configuration: .withoutRedirects) { http in
            let client = BucketClient(
                access, now: { .machine }, send: BucketClient.sender(http))
            let backups = BucketBackups(client: client, now: .machine) {
                Outcome.printError($0)
            }
            try await more(backups)
            guard let at else { return try await backups.download(name, into: folder) }
            return try await backups.download(at: at, into: folder)
        }
    }

    /// How the bucket is reached, and the name of the backup, if the address names one.
    private func bucket() throws -> (BucketAccess, name: String?) {
        var text = file ?? ""
        var name: String?
        let last = URL(fileURLWithPath: text).lastPathComponent
        if BackupFolder.moment(of: last) != nil {
            (name, text) = (last, String(text.dropLast(last.count + 1)))
        }
        guard let address = BucketAddress(text) else {
            throw StartFailure(
                "“\(text)” is not the address of a bucket.",
                remedy: "Write it like s3://example-backups/perennial.")
        }
        guard name == nil || at == nil else {
            throw StartFailure(
                "--at chooses the backup, and \(last) is one.",
                remedy: "Name only the bucket and the prefix: \(address).")
        }
        // A configuration that cannot be used here must not prevent a restore.
        let configured = (try? ConfigurationFile(path: configPath))?.backup?.bucket
        if var configured, configured.address.bucket == address.bucket, endpoint == nil,
            region == nil
        {
            configured.address = address
            return (configured, name)
        }
        return (
            try BucketVariables.access(
                to: address, endpoint: endpoint, region: region,
                environment: ProcessInfo.processInfo.environment), name
        )
    }

    // MARK: - Erasures

    /// The list of erasures that a server on the database reads.
    ///
    /// - Throws: ``StartFailure`` if a configuration is named and cannot be read: it may say where
    ///   that list is.
    private func erasures(of address: String) throws -> ErasureFile? {
        let environment = ProcessInfo.processInfo.environment
        let isNamed = options.config != nil || environment["PERENNIAL_CONFIG"] != nil
        let configuration =
            isNamed
            ? try Outcome.configuration(at: configPath)
            : try? ConfigurationFile(path: configPath)
        let settings = try ProcessSettings(
            flags: ["database": address], environment: environment,
            file: configuration?.settings ?? [:])
        return ErasureFile(for: address, in: settings.erasures, backups: nil)
    }

    /// Adds the erasures in the bucket to the list of this machine, so that nobody who was erased
    /// is back, whether the configuration is named or not.
    private static func addErasures(
        of backups: BucketBackups, to list: ErasureFile?
    ) async throws {
        guard let lines = try await backups.erasures() else {
            return Outcome.printError(
                "\(backups.client.access.address) has no list of erasures: people who were erased "
                    + "after the backup are back, unless this machine has a list.")
        }
        try list?.add(lines)
    }
}

internal import Foundation

/// The file with the changes of attributes that wait for the server. A change is on the disk when
/// the call that makes it returns.
///
/// The calls are synchronous, because an app sets attributes in synchronous code. Every process may
/// write, also an extension: each change locks the file, reads it, and replaces it.
///
/// The name contains the version of the layout. If there is no file of this version, the SDK reads
/// the file of the previous version, and deletes it once there is a file of this version.
struct AttributeFile: Sendable {
    static let name = "attributes-\(version)"
    static let lockName = "\(name).lock"
    private static let version: UInt8 = 2
    /// The previous version, which is the oldest version that is read.
    private static let earlierVersion: UInt8 = 1
    /// The maximum number of changes that wait, for all customers of this device together.
    static let waitingMax = 200
    /// The maximum size of the file in bytes.
    static let bytesMax = 262_144
    /// The maximum number of attempts to lock the file, and the pause between two of them in
    /// microseconds. Each process holds the lock for some milliseconds.
    private static let (locksMax, lockPause) = (500, UInt32(2_000))

    private let folder: DeviceFolder
    private var path: String { folder.path(Self.name) }
    private var earlierPath: String { folder.path("attributes-\(Self.earlierVersion)") }

    init(folder: DeviceFolder) { self.folder = folder }

    /// The waiting changes. A damaged file counts as empty.
    func read() throws(FileFailure) -> PendingAttributes {
        if let pending = try read(path, version: Self.version) { return pending }
        if let pending = try read(earlierPath, version: Self.earlierVersion) { return pending }
        return PendingAttributes()
    }

    /// Returns nil if there is no file.
    private func read(
        _ path: String, version: UInt8
    ) throws(FileFailure) -> PendingAttributes? {
        let bytes: [UInt8]?
        do throws(FileFailure) {
            bytes = try FileBytes.read(path, bytesMax: Self.bytesMax)
        } catch {
            guard error == .tooLarge else { throw error }
            return PendingAttributes()
        }
        guard let bytes else { return nil }
        guard let content = SealedContent(file: bytes, version: version),
            let pending = try? PendingAttributes(content.bytes, version: version)
        else { return PendingAttributes() }
        return pending
    }

    /// Changes the file in one step: after a crash it contains either the old or the new changes.
    /// Creates the folder if it is absent.
    ///
    /// - Parameter body: runs while no other thread and no other process can change the file.
    /// - Throws: `tooLarge` if there would be too many changes. Then the file stays as it is.
    func change<Value>(
        _ body: (inout PendingAttributes) -> Value
    ) throws(FileFailure) -> Value {
        do { try folder.create() } catch {
            throw .system(call: "mkdir", code: Int32((error as NSError).code))
        }
        let lock = try waitForLock()
        return try withExtendedLifetime(lock) { () throws(FileFailure) in
            let before = try read()
            var after = before
            let value = body(&after)
            if after != before { try write(after) }
            return value
        }
    }

    private func write(_ pending: PendingAttributes) throws(FileFailure) {
        guard !pending.isEmpty else {
            // In this order, a crash never brings back changes of the previous version.
            try FileBytes.delete(earlierPath)
            return try FileBytes.delete(path)
        }
        let file = SealedContent(pending.bytes, version: Self.version, code: nil).file
        guard pending.changes.count <= Self.waitingMax, file.count <= Self.bytesMax else {
            throw .tooLarge
        }
        try FileBytes.replace(path, with: file)
        try FileBytes.delete(earlierPath)
    }

    private func waitForLock() throws(FileFailure) -> FileLock {
        for _ in 0..<Self.locksMax {
            if let lock = try FileLock(folder.path(Self.lockName)) { return lock }
            usleep(Self.lockPause)
        }
        throw .notWriter
    }
}

internal import Foundation

/// The file with what the first answer after a launch needs: read by one `open` and `read`.
///
/// Layout: the four bytes `PRNL`, a byte of version, eight bytes of a SHA-256 checksum over all
/// other bytes, then the content, then its seal: an HMAC-SHA256 by the device's key.
/// The checksum finds accidents, the seal finds editors. What does not fit stands in a second file
/// of the same layout. Both names contain the version, so that an SDK never touches a newer one's.
/// The files of the version before are read if there are none of this one, and deleted once there
/// are.
struct StateFile: Sendable {
    static let version: UInt8 = 5
    /// The oldest version that is read. It has no seats.
    static let earlierVersion: UInt8 = 4
    /// The first version that has the seats of transactions and of renewals.
    static let versionWithSeats: UInt8 = 5
    /// The first file, which is read on the launch path.
    static let bytesMax = 8_192
    /// The second file, which is read in the background.
    static let moreBytesMax = 262_144
    static let name = "state-\(version)"
    static let moreName = "words-\(version)"
    private static let identityBytes = 16

    let path: String
    let morePath: String
    /// The two files of the version before.
    private let earlierPaths: (state: String, words: String)
    /// A hash of server, key and app: the file of another one is no file.
    private let identity: [UInt8]

    /// - Parameter bundleID: the app's, also in an extension that shares the app's group.
    init(folder: DeviceFolder, bundleID: String) {
        path = folder.path(Self.name)
        morePath = folder.path(Self.moreName)
        earlierPaths = (
            folder.path("state-\(Self.earlierVersion)"), folder.path("words-\(Self.earlierVersion)")
        )
        identity = Array(
            Cryptography.sha256(Array("\(folder.name)\n\(bundleID)".utf8)).prefix(
                Self.identityBytes))
    }

    enum Reading {
        /// There is no file.
        case absent
        /// There is a file, but the system does not let us read it: before the first unlock. Read
        /// it again later, and do not write before.
        case unreadable(FileFailure)
        /// It is damaged, or another app's, server's or version's: as if it were absent.
        case foreign
        case found(StoredState)
    }

    /// Reads the first file, or that of the version before.
    ///
    /// - Parameters:
    ///   - pinned: the keys that the app was built with.
    ///   - customer: who is logged in, if the app says so. If the file is another person's, only
    ///     the device's own part of it is returned.
    func read(pinned: [SigningKey], customer: String? = nil) -> Reading {
        let reading = read(path, version: Self.version, pinned: pinned, customer: customer)
        guard case .absent = reading else { return reading }
        return read(
            earlierPaths.state, version: Self.earlierVersion, pinned: pinned, customer: customer)
    }

    private func read(
        _ path: String, version: UInt8, pinned: [SigningKey], customer: String?
    ) -> Reading {
        let bytes: [UInt8]?
        do throws(FileFailure) {
            bytes = try FileBytes.read(path, bytesMax: Self.bytesMax)
        } catch {
            return error == .tooLarge ? .foreign : .unreadable(error)
        }
        guard let bytes else { return .absent }
        guard let content = SealedContent(file: bytes, version: version),
            var stored = try? StoredState(content, identity: identity, pinned: pinned)
        else { return .foreign }
        if let customer { stored.forgetOthers(than: customer) }
        return .found(stored)
    }

    /// Adds what the second file has to a state that was proven. Returns nil if that file is not
    /// there, is damaged, or is not of this device and customer: then nothing of it counts.
    ///
    /// - Parameter version: that of the first file.
    func readMore(
        _ state: DeviceState, of version: UInt8 = version, code: MessageCode
    ) throws(FileFailure) -> DeviceState? {
        let path = version == Self.version ? morePath : earlierPaths.words
        let bytes: [UInt8]?
        do throws(FileFailure) {
            bytes = try FileBytes.read(path, bytesMax: Self.moreBytesMax)
        } catch {
            guard error == .tooLarge else { throw error }
            return nil
        }
        guard let bytes, let content = SealedContent(file: bytes, version: version),
            content.isSealed(by: code)
        else { return nil }
        return try? state.adding(content, identity: identity)
    }

    /// Writes both files, each in one step. The folder must exist.
    ///
    /// - Parameter code: proves at the next launch that this device wrote it. Without it, nothing
    ///   counts then but what the server has signed.
    func write(_ state: DeviceState, code: MessageCode?) throws(FileFailure) {
        var moved: Set<DeviceState.Part> = []
        for part in [nil] + DeviceState.Part.allCases.map(Optional.some) {
            if let part { moved.insert(part) }
            let content = state.content(identity: identity, without: moved)
            let file = SealedContent(content, code: code).file
            guard file.count <= Self.bytesMax else { continue }
            try writeMore(moved, of: state, code: code)
            try FileBytes.replace(path, with: file)
            if moved.isEmpty { try FileBytes.delete(morePath) }
            try deleteEarlier()
            return
        }
        throw .tooLarge
    }

    /// Written before the first file, so that what moved there is never in neither of them.
    private func writeMore(
        _ parts: Set<DeviceState.Part>, of state: DeviceState, code: MessageCode?
    ) throws(FileFailure) {
        guard !parts.isEmpty else { return }
        let content = state.moreContent(identity: identity, parts: parts)
        let file = SealedContent(content, code: code).file
        guard file.count <= Self.moreBytesMax else { throw .tooLarge }
        try FileBytes.replace(morePath, with: file)
    }

    /// Deletes both files, and those of the version before. Idempotent.
    func delete() throws(FileFailure) {
        try FileBytes.delete(path)
        try FileBytes.delete(morePath)
        try deleteEarlier()
    }

    /// An SDK of the version before must not find what a customer had who has signed out since.
    private func deleteEarlier() throws(FileFailure) {
        try FileBytes.delete(earlierPaths.state)
        try FileBytes.delete(earlierPaths.words)
    }
}

internal import Foundation

/// The file with the state that the first snapshot after a launch needs. Reading the file takes one
/// `open` and one `read`.
///
/// Layout: the four bytes `PRNL`, a byte for the version, eight bytes of a SHA-256 checksum over
/// all other bytes, the content, and its seal: an HMAC-SHA256 with the device's key. The checksum
/// detects accidental damage, the seal detects manipulation. Content that does not fit is in a
/// second file of the same layout. Both names contain the version, so that an SDK never touches the
/// files of a newer SDK. If there are no files of this version, the SDK reads the files of the
/// previous version. The SDK deletes the files of the previous version once there are files of this
/// version.
struct StateFile: Sendable {
    static let version: UInt8 = 5
    /// The previous version of the files, which is the oldest version that is read. Files of the
    /// previous version do not contain seats.
    static let earlierVersion: UInt8 = 4
    /// The first version that contains the seats of transactions and of renewals.
    static let versionWithSeats: UInt8 = 5
    /// The maximum size in bytes of the first file, which is read at launch.
    static let bytesMax = 8_192
    /// The maximum size in bytes of the second file, which is read in the background.
    static let moreBytesMax = 262_144
    static let name = "state-\(version)"
    static let moreName = "words-\(version)"
    private static let identityBytes = 16

    let path: String
    let morePath: String
    /// The paths of the two files of the previous version.
    private let earlierPaths: (state: String, words: String)
    /// A hash of the server, the key and the app. A file with another hash counts as absent.
    private let identity: [UInt8]

    /// - Parameter bundleID: the app's bundle id, also in an extension that shares the app's group.
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
        /// There is a file, but the system does not allow reading it before the first unlock. Read
        /// the file again later, and do not write before that.
        case unreadable(FileFailure)
        /// The file is damaged, or belongs to another app, server or version. Such a file counts as
        /// absent.
        case foreign
        case found(StoredState)
    }

    /// Reads the first file of this version or, if that is absent, of the previous version.
    ///
    /// - Parameters:
    ///   - pinned: the keys that the app was built with.
    ///   - customer: the customer who is logged in, if the app says so. If the file belongs to
    ///     another person, only the device's part of the state is returned, without the person's
    ///     part.
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

    /// Adds the content of the second file to a proven state. Returns nil if the second file is
    /// absent or damaged, or belongs to another device or customer: then none of its content
    /// counts.
    ///
    /// - Parameter version: the version of the first file.
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
    /// - Parameter code: the code that proves at the next launch that this device wrote the files.
    ///   If the code is nil, only content that the server has signed counts at the next launch.
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

    /// Writes the second file. Call this function before the first file is written, so that content
    /// that moves to the second file is always in one of the two files.
    private func writeMore(
        _ parts: Set<DeviceState.Part>, of state: DeviceState, code: MessageCode?
    ) throws(FileFailure) {
        guard !parts.isEmpty else { return }
        let content = state.moreContent(identity: identity, parts: parts)
        let file = SealedContent(content, code: code).file
        guard file.count <= Self.moreBytesMax else { throw .tooLarge }
        try FileBytes.replace(morePath, with: file)
    }

    /// Deletes both files of this version and both files of the previous version. Idempotent.
    func delete() throws(FileFailure) {
        try FileBytes.delete(path)
        try FileBytes.delete(morePath)
        try deleteEarlier()
    }

    /// Deletes the files of the previous version, so that an SDK of that version does not find the
    /// data of a customer who has signed out since.
    private func deleteEarlier() throws(FileFailure) {
        try FileBytes.delete(earlierPaths.state)
        try FileBytes.delete(earlierPaths.words)
    }
}

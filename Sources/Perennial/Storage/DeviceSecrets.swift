internal import Foundation

#if canImport(Security)
    internal import Security
#endif

/// The secrets that identify this device: the anonymous id, and the key of the seals. The secrets
/// must not reach another device in a backup. On Apple's systems they are in the Keychain, where
/// they survive a reinstall; on other systems, they are in a file of the lasting folder. The launch
/// never needs them.
struct DeviceSecrets: Sendable {
    /// The prefix that tells the server that an id belongs to a device, not to a person.
    static let anonymousPrefix = "anon_"
    static let fileName = "secrets-1"
    private static let bytesMax = 256

    /// The stored secrets.
    struct Values: Hashable, Sendable {
        /// The id of the anonymous customer: `anon_` and a UUID in lower case.
        var anonymousID: String
        /// The key of the seals, 32 bytes.
        var sealKey: [UInt8]

        var code: MessageCode {
            guard let code = MessageCode(key: sealKey) else {
                preconditionFailure("The key of the seals has 32 bytes.")
            }
            return code
        }
    }

    /// Reads the stored bytes. Returns nil if nothing is stored. Throws if the stored bytes cannot
    /// be read now.
    private let load: @Sendable () throws(FileFailure) -> [UInt8]?
    private let save: @Sendable ([UInt8]) throws(FileFailure) -> Void
    private let delete: @Sendable () throws(FileFailure) -> Void

    /// Stores the secrets with any functions, for tests.
    init(
        load: @escaping @Sendable () throws(FileFailure) -> [UInt8]?,
        save: @escaping @Sendable ([UInt8]) throws(FileFailure) -> Void,
        delete: @escaping @Sendable () throws(FileFailure) -> Void
    ) {
        self.load = load
        self.save = save
        self.delete = delete
    }

    /// Stores the secrets in a file that only the user can read. The file does not survive a
    /// reinstall.
    init(file folder: DeviceFolder) {
        let path = folder.path(Self.fileName)
        self.init(
            load: { () throws(FileFailure) in
                try FileBytes.read(path, bytesMax: Self.bytesMax)
            },
            save: { bytes throws(FileFailure) in try FileBytes.replace(path, with: bytes) },
            delete: { () throws(FileFailure) in try FileBytes.delete(path) })
    }

    /// Stores the secrets in the system's usual place.
    init(folder: DeviceFolder, accessGroup: String? = nil) {
        #if canImport(Security)
            self.init(account: folder.name, accessGroup: accessGroup)
        #else
            self.init(file: folder)
        #endif
    }

    /// The stored values, or new values if nothing is stored. Throws if the stored values cannot be
    /// read now, for example before the first unlock. In that case no new values are made, because
    /// they would replace the stored values.
    ///
    /// - Parameter random: makes a number of random bytes.
    func values(random: (_ count: Int) -> [UInt8]) throws(FileFailure) -> Values {
        if let kept = try load(), let values = Values(kept) { return values }
        let values = Values(random: random)
        try save(values.bytes)
        // Another process may have saved other values at the same time. Then the values of the
        // other process count.
        return try load().flatMap(Values.init) ?? values
    }

    /// The stored values. Nil if nothing is stored, or if the values cannot be read now. Writes
    /// nothing.
    func kept() -> Values? {
        guard let bytes = try? load() else { return nil }
        return Values(bytes)
    }

    /// Makes another anonymous id, for example after a log-out. The key of the seals stays the
    /// same.
    func renewAnonymousID(random: (_ count: Int) -> [UInt8]) throws(FileFailure) -> Values {
        var values = try values(random: random)
        values.anonymousID = Values(random: random).anonymousID
        try save(values.bytes)
        return values
    }

    /// Deletes all secrets. Idempotent.
    func erase() throws(FileFailure) { try delete() }
}

extension DeviceSecrets.Values {
    private static let uuidBytes = 16

    fileprivate init(random: (Int) -> [UInt8]) {
        var id = random(Self.uuidBytes)
        // Version 4, variant 1 (RFC 9562 §5.4).
        id[6] = id[6] & 0x0F | 0x40
        id[8] = id[8] & 0x3F | 0x80
        let digits = id.hexadecimal
        var text = ""
        for (position, digit) in digits.enumerated() {
            if [8, 12, 16, 20].contains(position) { text += "-" }
            text.append(digit)
        }
        anonymousID = DeviceSecrets.anonymousPrefix + text
        sealKey = random(MessageCode.bytes)
    }

    /// Parses stored bytes. Returns nil if they do not have the form of ``bytes``.
    fileprivate init?(_ bytes: [UInt8]) {
        var reader = ByteReader(bytes)
        guard let id = try? reader.text(), let key = try? reader.bytes(), reader.isAtEnd,
            id.hasPrefix(DeviceSecrets.anonymousPrefix), MessageCode(key: key) != nil
        else { return nil }
        anonymousID = id
        sealKey = key
    }

    fileprivate var bytes: [UInt8] {
        var writer = ByteWriter()
        writer.write(anonymousID)
        writer.write(sealKey)
        return writer.bytes
    }
}

#if canImport(Security)
    extension DeviceSecrets {
        private static let service = "Perennial"

        /// Stores the secrets in one item of the Keychain, which is readable after the first
        /// unlock, on this device only.
        ///
        /// - Parameters:
        ///   - account: the name of the item.
        ///   - accessGroup: the Keychain group that the app shares with its extensions.
        init(account: String, accessGroup: String?) {
            self.init(
                load: { () throws(FileFailure) in
                    var query = Self.query(account, accessGroup)
                    query[kSecReturnData] = true
                    query[kSecMatchLimit] = kSecMatchLimitOne
                    var found: CFTypeRef?
                    let status = SecItemCopyMatching(Self.dictionary(query), &found)
                    if status == errSecItemNotFound { return nil }
                    try Self.require(status, "SecItemCopyMatching")
                    return (found as? Data).map(Array.init)
                },
                save: { bytes throws(FileFailure) in
                    let query = Self.query(account, accessGroup)
                    let values: [CFString: Any] = [
                        kSecValueData: Data(bytes),
                        kSecAttrAccessible: kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly,
                    ]
                    let status = SecItemUpdate(
                        Self.dictionary(query), Self.dictionary(values))
                    guard status == errSecItemNotFound else {
                        return try Self.require(status, "SecItemUpdate")
                    }
                    let item = query.merging(values) { $1 }
                    let added = SecItemAdd(Self.dictionary(item), nil)
                    // Another process has just added the item. The caller reads it again.
                    if added == errSecDuplicateItem { return }
                    try Self.require(added, "SecItemAdd")
                },
                delete: { () throws(FileFailure) in
                    let status = SecItemDelete(Self.dictionary(Self.query(account, accessGroup)))
                    if status == errSecItemNotFound { return }
                    try Self.require(status, "SecItemDelete")
                })
        }

        private static func query(_ account: String, _ accessGroup: String?) -> [CFString: Any] {
            var query: [CFString: Any] = [
                kSecClass: kSecClassGenericPassword,
                kSecAttrService: service,
                kSecAttrAccount: account,
                kSecAttrSynchronizable: false,
            ]
            if let accessGroup { query[kSecAttrAccessGroup] = accessGroup }
            #if os(macOS)
                query[kSecUseDataProtectionKeychain] = true
            #endif
            return query
        }

        private static func dictionary(_ values: [CFString: Any]) -> CFDictionary {
            NSDictionary(dictionary: values) as CFDictionary
        }

        private static func require(_ status: OSStatus, _ call: String) throws(FileFailure) {
            guard status == errSecSuccess else { throw .system(call: call, code: status) }
        }
    }
#endif

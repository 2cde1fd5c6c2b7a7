internal import Foundation

#if canImport(Security)
    internal import Security
#endif

/// What identifies this device, and must not travel to another one in a backup: the anonymous id,
/// and the key of the seals. In the Keychain on Apple's systems, where they survive a reinstall;
/// elsewhere in a file of the lasting folder. Never needed on the launch path.
struct DeviceSecrets: Sendable {
    /// Follows the rule of the server: such an id is of a device, not of a person.
    static let anonymousPrefix = "anon_"
    static let fileName = "secrets-1"
    private static let bytesMax = 256

    /// What is kept.
    struct Values: Hashable, Sendable {
        /// `anon_` and a UUID in lower case.
        var anonymousID: String
        /// 32 bytes.
        var sealKey: [UInt8]

        var code: MessageCode {
            guard let code = MessageCode(key: sealKey) else {
                preconditionFailure("The key of the seals has 32 bytes.")
            }
            return code
        }
    }

    /// Returns nil if nothing is kept. Throws if what is kept cannot be read at the moment.
    private let load: @Sendable () throws(FileFailure) -> [UInt8]?
    private let save: @Sendable ([UInt8]) throws(FileFailure) -> Void
    private let delete: @Sendable () throws(FileFailure) -> Void

    /// For tests: any place.
    init(
        load: @escaping @Sendable () throws(FileFailure) -> [UInt8]?,
        save: @escaping @Sendable ([UInt8]) throws(FileFailure) -> Void,
        delete: @escaping @Sendable () throws(FileFailure) -> Void
    ) {
        self.load = load
        self.save = save
        self.delete = delete
    }

    /// A file that only the user can read. It does not survive a reinstall.
    init(file folder: DeviceFolder) {
        let path = folder.path(Self.fileName)
        self.init(
            load: { () throws(FileFailure) in
                try FileBytes.read(path, bytesMax: Self.bytesMax)
            },
            save: { bytes throws(FileFailure) in try FileBytes.replace(path, with: bytes) },
            delete: { () throws(FileFailure) in try FileBytes.delete(path) })
    }

    /// The system's usual place.
    init(folder: DeviceFolder, accessGroup: String? = nil) {
        #if canImport(Security)
            self.init(account: folder.name, accessGroup: accessGroup)
        #else
            self.init(file: folder)
        #endif
    }

    /// What is kept, or new values if there is nothing. Throws if the place cannot be read now, as
    /// before the first unlock: then nothing new is made, because it would replace what is there.
    ///
    /// - Parameter random: makes a number of random bytes.
    func values(random: (_ count: Int) -> [UInt8]) throws(FileFailure) -> Values {
        if let kept = try load(), let values = Values(kept) { return values }
        let values = Values(random: random)
        try save(values.bytes)
        // Another process may have saved its own at the same time: what is there counts.
        return try load().flatMap(Values.init) ?? values
    }

    /// What is kept. Nil if there is nothing, or if it cannot be read now. Writes nothing.
    func kept() -> Values? {
        guard let bytes = try? load() else { return nil }
        return Values(bytes)
    }

    /// Makes another anonymous id, as after a log-out. The key of the seals stays.
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

    /// Returns nil if the bytes are not what ``bytes`` makes.
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

        /// One item of the Keychain: readable after the first unlock, on this device only.
        ///
        /// - Parameters:
        ///   - account: the name of the item.
        ///   - accessGroup: shared with the app's extensions.
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
                    // Another process has just added it. The caller reads it again.
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

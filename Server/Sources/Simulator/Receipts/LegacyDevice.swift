import AppStoreFormats
import Crypto

/// Hardware and shop identifiers that only the older documents contain. All are derived from the
/// seed and from names by a hash, so reading them does not change the world.
struct LegacyDevice: Hashable, Sendable {
    let seed: UInt64
    /// The device's id, or the account's name if no device is known.
    let name: String

    /// `identifierForVendor`: the GUID used for a receipt's hash.
    var guid: [UInt8] {
        var bytes = Self.noise("vendor", seed, name, count: 16)
        // A UUID of version 4 (RFC 9562), as those of UIKit are.
        bytes[6] = bytes[6] & 0x0F | 0x40
        bytes[8] = bytes[8] & 0x3F | 0x80
        return bytes
    }

    /// `identifierForVendor` as text.
    var vendorIdentifier: String { Self.uuidText(guid) }

    /// A UDID of 40 hexadecimal digits.
    var uniqueIdentifier: String {
        Self.noise("udid", seed, name, count: 20).map(Self.hexadecimal).joined()
    }

    /// A product's Apple id, which is the same on every device.
    func itemID(of product: String) -> String {
        let number = Self.number("item", seed, product, below: 900_000_000)
        return String(600_000_000 + number)
    }

    /// Bytes that look random, but are the same for the same input.
    static func noise(_ what: String, _ seed: UInt64, _ name: String, count: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < count {
            let text = "\(what) \(bytes.count) \(seed) \(name)"
            bytes += SHA256.hash(data: Array(text.utf8))
        }
        return Array(bytes.prefix(count))
    }

    static func number(
        _ what: String, _ seed: UInt64, _ name: String, below limit: UInt64
    ) -> Int64 {
        let bytes = noise(what, seed, name, count: 8)
        return Int64(bytes.reduce(UInt64(0)) { $0 << 8 | UInt64($1) } % limit)
    }

    static func uuidText(_ bytes: [UInt8]) -> String {
        var text = ""
        for (index, byte) in bytes.enumerated() {
            if [4, 6, 8, 10].contains(index) { text += "-" }
            text += hexadecimal(byte)
        }
        return text.uppercased()
    }

    private static func hexadecimal(_ byte: UInt8) -> String {
        String(UInt16(byte) + 0x100, radix: 16).dropFirst().description
    }
}

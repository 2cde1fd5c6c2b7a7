import AppStoreFormats

/// Makes the second valid signature of the same bytes. If (r, s) is an ECDSA signature, (r, n − s)
/// is valid, too, and anybody who has the first can compute the second.
package enum OtherSignature {
    /// The order of P-256's base point (SEC 2, 2.4.2).
    private static let order: [UInt8] = [
        0xFF, 0xFF, 0xFF, 0xFF, 0x00, 0x00, 0x00, 0x00, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
        0xFF, 0xBC, 0xE6, 0xFA, 0xAD, 0xA7, 0x17, 0x9E, 0x84, 0xF3, 0xB9, 0xCA, 0xC2, 0xFC, 0x63,
        0x25, 0x51,
    ]

    /// Returns the same JWS with the second signature; nil if the text is not a JWS with ES256.
    package static func jws(_ jws: [UInt8]) -> [UInt8]? {
        guard let parts = CompactJWS(jws), let signature = parts.signature, signature.count == 64
        else { return nil }
        let other = Array(signature[..<32]) + difference(order, Array(signature[32...]))
        return Array(parts.signedBytes) + [UInt8(ascii: ".")] + Base64.url.encode(other)
    }

    /// Subtracts the second big-endian number from the first, which is larger and of equal length.
    private static func difference(_ one: [UInt8], _ other: [UInt8]) -> [UInt8] {
        var result = one
        var borrow = 0
        for index in one.indices.reversed() {
            let value = Int(one[index]) - Int(other[index]) - borrow
            borrow = value < 0 ? 1 : 0
            result[index] = UInt8(value + 256 * borrow)
        }
        return result
    }
}

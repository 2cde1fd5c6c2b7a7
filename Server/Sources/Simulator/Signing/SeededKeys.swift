import Crypto
import Foundation
import _CryptoExtras

/// Private keys that follow from a number: who knows the number has the keys, so they are for
/// simulations that are to be repeated byte by byte, and for nothing else.
struct SeededKeys: Sendable {
    let root: P384.Signing.PrivateKey
    let intermediate: P384.Signing.PrivateKey
    let leaf: P256.Signing.PrivateKey
    /// Of who answers for the root whether a certificate holds, and for the intermediate.
    let responders: [P256.Signing.PrivateKey]

    init(seed: UInt64) throws {
        root = try P384.Signing.PrivateKey(
            rawRepresentation: Self.below(SHA384.hash(data: Self.text("root", seed))))
        intermediate = try P384.Signing.PrivateKey(
            rawRepresentation: Self.below(SHA384.hash(data: Self.text("intermediate", seed))))
        leaf = try P256.Signing.PrivateKey(
            rawRepresentation: Self.below(SHA256.hash(data: Self.text("leaf", seed))))
        responders = try ["root responder", "intermediate responder"].map { name in
            try P256.Signing.PrivateKey(
                rawRepresentation: Self.below(SHA256.hash(data: Self.text(name, seed))))
        }
    }

    /// The keys of receipts: root, intermediate and leaf. Some tenths of a second.
    ///
    /// Three primes make them, two for each: finding primes is what takes time, and that two keys
    /// share one gives away nothing that the seed does not.
    static func receiptKeys(seed: UInt64) throws -> [_RSA.Signing.PrivateKey] {
        let primes = (1...3).map {
            SeededPrime("Perennial simulator receipts \($0) \(seed)")
        }
        return try [(0, 1), (0, 2), (1, 2)].map { one, other in
            try SeededRSAKey(primes[one], primes[other]).key
        }
    }

    private static func text(_ name: String, _ seed: UInt64) -> [UInt8] {
        Array("Perennial simulator \(name) \(seed)".utf8)
    }

    /// Without its highest bit a number is below the order of the curve.
    private static func below(_ digest: some Digest) -> [UInt8] {
        var bytes = Array(digest)
        bytes[0] &= 0x7F
        return bytes
    }
}

import Crypto
import Foundation
import _CryptoExtras

/// Private keys derived from a number. Anybody who knows the number can derive the keys, so use
/// them only for simulations that must be repeatable byte by byte.
struct SeededKeys: Sendable {
    let root: P384.Signing.PrivateKey
    let intermediate: P384.Signing.PrivateKey
    let leaf: P256.Signing.PrivateKey
    /// The keys of the OCSP responders for the root and for the intermediate.
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

    /// The receipt keys: root, intermediate and leaf. Takes some tenths of a second.
    ///
    /// The three keys are made from only three primes, two primes for each key, because finding
    /// primes takes most of the time. Two keys that share a prime reveal nothing that the seed does
    /// not reveal, too.
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

    /// The bytes of a digest without its highest bit, which makes the number smaller than the order
    /// of the curve.
    private static func below(_ digest: some Digest) -> [UInt8] {
        var bytes = Array(digest)
        bytes[0] &= 0x7F
        return bytes
    }
}

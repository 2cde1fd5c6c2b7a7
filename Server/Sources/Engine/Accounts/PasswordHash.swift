import Crypto
import Foundation
import _CryptoExtras

/// A password in its stored form: a key that scrypt (RFC 7914) derives from it, with the salt and
/// the cost.
package struct PasswordHash: Hashable, Sendable {
    /// The cost of each attempt.
    package struct Cost: Hashable, Sendable {
        /// The binary logarithm of scrypt's N.
        package var rounds: Int
        /// Scrypt's r. An attempt uses 128 · 2^rounds · blockSize bytes of memory.
        package var blockSize: Int
        /// Scrypt's p: how many times the work is done, one after another.
        package var passes: Int

        package init(rounds: Int, blockSize: Int, passes: Int) {
            self.rounds = rounds
            self.blockSize = blockSize
            self.passes = passes
        }

        /// The usual cost: 32 MiB of memory for a few tenths of a second, as OWASP's Password
        /// Storage Cheat Sheet recommends.
        package static let usual = Self(rounds: 15, blockSize: 8, passes: 3)
    }

    static let charactersMin = 12
    static let bytesMax = 400
    private static let saltBytes = 16
    private static let keyBytes = 32
    private static let scheme = "scrypt"

    let cost: Cost
    private let salt: [UInt8]
    private let key: [UInt8]

    /// Derives the key of a new password. This takes a while: see ``PasswordThreads``.
    ///
    /// - Throws: if the memory for the derivation cannot be allocated.
    init(_ password: String, cost: Cost) throws {
        let salt = SymmetricKey(size: SymmetricKeySize(bitCount: Self.saltBytes * 8))
            .withUnsafeBytes { Array($0) }
        self.init(cost: cost, salt: salt, key: try Self.key(password, cost, salt))
    }

    private init(cost: Cost, salt: [UInt8], key: [UInt8]) {
        self.cost = cost
        self.salt = salt
        self.key = key
    }

    /// A hash that matches no password, so that a sign-in with an unknown name takes as long as any
    /// other sign-in.
    static func decoy(cost: Cost) -> Self {
        Self(
            cost: cost, salt: Array(repeating: 0, count: saltBytes),
            key: Array(repeating: 0, count: keyBytes))
    }

    /// Parses what ``text`` returns. Returns nil for any other text.
    init?(_ text: String) {
        let parts = text.split(separator: ":")
        guard parts.count == 6, parts[0] == Self.scheme, let rounds = Int(parts[1]),
            let blockSize = Int(parts[2]), let passes = Int(parts[3]),
            let salt = Hexadecimal.bytes(parts[4]), let key = Hexadecimal.bytes(parts[5])
        else { return nil }
        self.init(
            cost: Cost(rounds: rounds, blockSize: blockSize, passes: passes), salt: salt, key: key)
    }

    var text: String {
        [
            Self.scheme, "\(cost.rounds)", "\(cost.blockSize)", "\(cost.passes)",
            Hexadecimal.text(salt), Hexadecimal.text(key),
        ].joined(separator: ":")
    }

    /// Whether a password matches. The time does not depend on the password. This takes a while:
    /// see ``PasswordThreads``.
    ///
    /// - Throws: if the memory for the derivation cannot be allocated.
    func matches(_ password: String) throws -> Bool {
        let other = try Self.key(password, cost, salt)
        // Keys are compared in constant time.
        return SymmetricKey(data: key) == SymmetricKey(data: other)
    }

    /// The key that scrypt derives from a password. The text is normalised first, because the same
    /// letter can consist of different code points, depending on the keyboard.
    private static func key(_ password: String, _ cost: Cost, _ salt: [UInt8]) throws -> [UInt8] {
        let text = Array(password.precomposedStringWithCanonicalMapping.utf8)
        return try KDF.Scrypt.deriveKey(
            from: text, salt: salt, outputByteCount: keyBytes, rounds: 1 << cost.rounds,
            blockSize: cost.blockSize, parallelism: cost.passes
        ).withUnsafeBytes { Array($0) }
    }
}

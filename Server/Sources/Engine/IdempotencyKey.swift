import Crypto

/// Derives ids from the idempotency keys of requests, such as grants and debits.
enum IdempotencyKey {
    /// Hexadecimal digits that are the same for the same key. Without a key, the digits are random.
    ///
    /// - Parameter count: the number of digits, at most 64.
    static func digits(for key: String?, count: Int) -> String {
        let bytes =
            key.map { Array(SHA256.hash(data: Array($0.utf8))) }
            ?? SymmetricKey(size: .bits256).withUnsafeBytes { Array($0) }
        return String(Hexadecimal.text(bytes).prefix(count))
    }
}

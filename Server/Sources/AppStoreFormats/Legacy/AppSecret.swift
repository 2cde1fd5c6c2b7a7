/// An app's shared secret, as App Store Connect shows it. verifyReceipt requires it, and it is the
/// only proof of origin in a version 1 notification. The description of this value never contains
/// the secret, so that the secret cannot be logged.
package struct AppSecret: Hashable, Sendable, CustomStringConvertible {
    /// The secret itself. Send it only to Apple.
    package let text: String

    package init(_ text: String) { self.text = text }

    package var description: String { "a shared secret" }

    /// Whether another text equals the secret. The time that the comparison takes depends only on
    /// the other text, so that an attacker cannot use the time to guess the secret character by
    /// character. An empty secret matches nothing.
    package func matches(_ other: String) -> Bool {
        let (mine, others) = (Array(text.utf8), Array(other.utf8))
        guard !mine.isEmpty else { return false }
        var difference: UInt8 = mine.count == others.count ? 0 : 1
        for (index, byte) in others.enumerated() { difference |= byte ^ mine[index % mine.count] }
        return difference == 0
    }
}

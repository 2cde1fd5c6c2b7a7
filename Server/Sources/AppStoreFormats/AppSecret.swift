/// An app's shared secret, as App Store Connect shows it: what verifyReceipt wants, and the only
/// proof that a notification of version 1 has. It is never written where a log could hold it.
package struct AppSecret: Hashable, Sendable, CustomStringConvertible {
    /// For Apple alone.
    package let text: String

    package init(_ text: String) { self.text = text }

    package var description: String { "a shared secret" }

    /// Whether another text is the same. How long that takes depends on the other text alone, so
    /// that nobody can find the secret out piece by piece. An empty secret is nobody's.
    package func matches(_ other: String) -> Bool {
        let (mine, others) = (Array(text.utf8), Array(other.utf8))
        guard !mine.isEmpty else { return false }
        var difference: UInt8 = mine.count == others.count ? 0 : 1
        for (index, byte) in others.enumerated() { difference |= byte ^ mine[index % mine.count] }
        return difference == 0
    }
}

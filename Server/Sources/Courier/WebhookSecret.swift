import Crypto
import Foundation

/// A secret that signs webhooks, in the form of Standard Webhooks 1.0.0: `whsec_` and the base64 of
/// 24 to 64 bytes.
package struct WebhookSecret: Hashable, Sendable, CustomStringConvertible {
    package static let prefix = "whsec_"
    package static let bytesRange = 24...64
    /// The number of bytes of a secret that this server makes.
    private static let newBytes = 32

    /// The secret. It is shown once, to the operator of the endpoint.
    package let text: String
    private let key: [UInt8]

    /// Returns nil unless the text is `whsec_` and the base64 of 24 to 64 bytes.
    package init?(_ text: String) {
        guard text.hasPrefix(Self.prefix),
            let key = Data(base64Encoded: String(text.dropFirst(Self.prefix.count))),
            Self.bytesRange.contains(key.count)
        else { return nil }
        self.text = text
        self.key = Array(key)
    }

    /// - Parameter key: 24 to 64 bytes.
    private init(key: [UInt8]) {
        self.key = key
        text = Self.prefix + Data(key).base64EncodedString()
    }

    /// A random secret.
    package static func fresh(by random: inout some RandomNumberGenerator) -> Self {
        Self(key: (0..<newBytes).map { _ in UInt8.random(in: .min ... .max, using: &random) })
    }

    /// The value of `webhook-signature` for one secret: `v1,` and the base64 of the HMAC-SHA256 of
    /// `id.timestamp.body`.
    package func signature(id: String, timestamp: Int64, body: [UInt8]) -> String {
        var code = HMAC<SHA256>(key: SymmetricKey(data: key))
        code.update(data: Array("\(id).\(timestamp).".utf8))
        code.update(data: body)
        return "v1,\(Data(code.finalize()).base64EncodedString())"
    }

    package var description: String { "a secret of a webhook" }
}

/// The signature of a webhook: `v1,` and the base64 of an HMAC-SHA256 over the id, the time, and
/// the body, joined by points (Standard Webhooks 1.0.0).
package enum WebhookSignature {
    package static let idHeader = "webhook-id"
    /// The name of the header with the time of the attempt, in Unix seconds.
    package static let timeHeader = "webhook-timestamp"
    /// The name of the header with one or more signatures, separated by spaces. While a secret is
    /// being replaced, there are several.
    package static let signatureHeader = "webhook-signature"

    /// The value of ``signatureHeader``, with a signature by each secret.
    ///
    /// - Parameter id: the same for each attempt to deliver the same event.
    /// - Parameter seconds: the time of this attempt, in Unix seconds.
    /// - Parameter body: the bytes of the body exactly as they are sent.
    package static func text(
        id: String, at seconds: Int64, body: [UInt8], secrets: [WebhookSecret]
    ) -> String {
        secrets.map { $0.signature(id: id, timestamp: seconds, body: body) }
            .joined(separator: " ")
    }
}

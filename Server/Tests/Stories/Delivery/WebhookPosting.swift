import AppStoreFormats
import Crypto
import Foundation

/// A received webhook, as a receiver reads it.
struct WebhookPosting: Sendable {
    var id: String
    var timestamp: String
    var signatures: [String]
    var body: [UInt8]

    init(_ head: [String: String], _ body: [UInt8]) {
        id = head["webhook-id"] ?? ""
        timestamp = head["webhook-timestamp"] ?? ""
        signatures = (head["webhook-signature"] ?? "").split(separator: " ").map(String.init)
        self.body = body
    }

    /// Whether the webhook was signed with the secret. Uses an independent implementation of
    /// Standard Webhooks.
    func isSigned(with secret: String) -> Bool {
        guard let key = Data(base64Encoded: String(secret.dropFirst("whsec_".count))) else {
            return false
        }
        let text = Data("\(id).\(timestamp).".utf8) + Data(body)
        return signatures.contains { signature in
            guard signature.hasPrefix("v1,"),
                let code = Data(base64Encoded: String(signature.dropFirst(3)))
            else { return false }
            return HMAC<SHA256>.isValidAuthenticationCode(
                code, authenticating: text, using: SymmetricKey(data: key))
        }
    }

    var event: JSON? { (try? JSON(parsing: body))?["data"]?["event"] }
    var customer: String? { event?["customer_id"]?.string }
    var sequence: Int64? { event?["sequence"]?.integer }
}

extension Receiver {
    var postings: [WebhookPosting] {
        zip(heads, arrivals).map { WebhookPosting($0, $1.body) }
    }
}

/// The secret of the stories' webhooks.
let webhookSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

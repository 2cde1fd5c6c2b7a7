import Crypto
import Foundation

/// Verifies webhooks. While you replace a secret, `secrets` contains the old and the new one.
struct WebhookReceiver {
    static let toleranceSeconds = 300

    private let keys: [SymmetricKey]

    init(secrets: [String]) {
        keys = secrets.compactMap {
            Data(base64Encoded: String($0.dropFirst("whsec_".count))).map(SymmetricKey.init(data:))
        }
    }

    /// - Parameter header: returns the value of a header, or an empty text if there is none.
    /// - Parameter body: the bytes as they arrived, before anything parses them as JSON.
    func isGenuine(_ header: (String) -> String, body: Data, now: Date = Date()) -> Bool {
        let (id, time) = (header("webhook-id"), header("webhook-timestamp"))
        guard !id.isEmpty, let seconds = Int(time),
            abs(now.timeIntervalSince1970 - Double(seconds)) <= Double(Self.toleranceSeconds)
        else { return false }
        let signed = Data("\(id).\(time).".utf8) + body
        return header("webhook-signature").split(separator: " ").contains { signature in
            guard signature.hasPrefix("v1,"),
                let code = Data(base64Encoded: String(signature.dropFirst(3)))
            else { return false }
            // Compares in constant time.
            return keys.contains {
                HMAC<SHA256>.isValidAuthenticationCode(code, authenticating: signed, using: $0)
            }
        }
    }
}

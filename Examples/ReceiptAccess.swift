// How an app that has only a receipt knows what its customer may use. The app uploads the receipt,
// stores the end of access from the response, and asks again later. Copy this file: it needs no
// package.
import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

struct ReceiptAccess {
    let server: URL
    let appKey: String
    let customer: String

    /// The end of access in the last response. Nil before the first response.
    var openUntil: Date? { UserDefaults.standard.object(forKey: "open until") as? Date }

    /// Uploads the receipt. Call this function at start, after a purchase, and to restore. If there
    /// is no receipt or no response, the last response stays valid until its end.
    func refresh(_ entitlement: String, now: Date = Date()) async -> Bool {
        if let file = Bundle.main.appStoreReceiptURL, let receipt = try? Data(contentsOf: file),
            let until = try? await upload(receipt, entitlement)
        {
            UserDefaults.standard.set(until, forKey: "open until")
        }
        return openUntil.map { now < $0 } ?? false
    }

    private func upload(_ receipt: Data, _ entitlement: String) async throws -> Date {
        var request = URLRequest(url: server.appendingPathComponent("v1/purchases"))
        request.httpMethod = "POST"
        request.setValue("Bearer \(appKey)", forHTTPHeaderField: "Authorization")
        let body = ["customer_id": customer, "app_receipt": receipt.base64EncodedString()]
        request.httpBody = try JSONEncoder().encode(body)
        let (answer, _) = try await URLSession.shared.data(for: request)
        let right = try JSONDecoder().decode(Answer.self, from: answer).entitlements[entitlement]
        guard let right, right.active else { return .distantPast }
        let format = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        return try right.until.map { try format.parse($0) } ?? .distantFuture
    }
}

private struct Answer: Decodable {
    struct Right: Decodable { let active: Bool, until: String? }
    let entitlements: [String: Right]
}

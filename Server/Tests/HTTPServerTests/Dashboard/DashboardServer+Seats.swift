import AppStoreFormats
import HTTPTypes
import NIOCore
import PerennialContract
import Testing

@testable import HTTPServer

extension DashboardServer {
    /// Records that a customer bought seats a day ago for a month: two at 9.99, the others at 7.99.
    ///
    /// - Parameter host: who manages the invitations, as Apple's documents spell it.
    func buySeats(
        _ id: String, transaction: String, seats: Int = 5, host: String = "DEVELOPER"
    ) async throws {
        try await post(
            [try Self.seats(transaction, quantity: seats, Self.tiers(of: seats), host)], as: id)
    }

    /// Records that the customer added two seats to five an hour ago.
    func addSeats(_ id: String, to transaction: String) async throws {
        try await post(
            [
                try Self.seats(transaction, quantity: 5, Self.tiers(of: 5), isPart: true),
                try Self.seats(
                    transaction, quantity: 2, "[\(Self.tier(7_990, 2))]", isPart: true,
                    addedAs: "\(transaction)2"),
            ], as: id)
    }

    private func post(_ payloads: [JSON], as id: String) async throws {
        let body = try ContractEncoder().encode(
            PurchasesRequest(
                customerID: id, intent: .sync,
                signedTransactions: try payloads.map { try signer.text($0) }))
        let response = try await client.execute(
            uri: Paths.purchases, method: .post,
            headers: [.authorization: "Bearer \(TestServer.secret)"],
            body: ByteBuffer(bytes: body))
        try #require(response.status == .ok, "\(String(buffer: response.body))")
    }

    private static func tiers(of seats: Int) -> String {
        "[\(tier(9_990, 2)), \(tier(7_990, seats - 2))]"
    }

    private static func tier(_ price: Int64, _ quantity: Int) -> String {
        "{\"price\": \(price), \"quantity\": \(quantity)}"
    }

    /// - Parameter added: the id of a later transaction that adds seats in the same period.
    private static func seats(
        _ original: String, quantity: Int, _ tiers: String, _ host: String = "DEVELOPER",
        isPart: Bool = false, addedAs added: String? = nil
    ) throws -> JSON {
        let now = TestServer.now.milliseconds
        let begin = now - (added == nil ? 86_400_000 : 3_600_000)
        let reason = isPart ? "\"additionalTransactionReason\": \"SEAT_ADDITION\"," : ""
        return try JSON(
            parsing: Array(
                """
                {"transactionId": "\(added ?? original)", "originalTransactionId": "\(original)",
                "webOrderLineItemId": "\(added ?? original)1", "bundleId": "com.example.birds",
                "productId": "pro.monthly", "subscriptionGroupIdentifier": "21",
                "quantity": \(quantity), "purchaseDate": \(begin),
                "originalPurchaseDate": \(now - 86_400_000),
                "expiresDate": \(now + 29 * 86_400_000), "type": "Auto-Renewable Subscription",
                "inAppOwnershipType": "PURCHASED", "signedDate": \(now - 3_600_000),
                "environment": "Production", "transactionReason": "PURCHASE", \(reason)
                "storefront": "USA", "storefrontId": "143441", "price": 8790, "currency": "USD",
                "multiSeatInfo": {"invitationManagement": "\(host)", "priceTiers": \(tiers)}}
                """.utf8))
    }

    /// Claims a seat for a customer. Returns the id of the claim.
    @discardableResult
    func claim(_ customer: String, on original: String) async throws -> String {
        let body = try ContractEncoder().encode(
            SeatClaimRequest(customerID: customer, originalTransactionID: original))
        let response = try await client.execute(
            uri: Paths.seatClaims, method: .post,
            headers: [.authorization: "Bearer \(TestServer.secret)"],
            body: ByteBuffer(bytes: body))
        try #require(response.status == .created, "\(String(buffer: response.body))")
        let answer = TestServer.Answer(
            status: response.status.code, headers: response.headers,
            text: String(buffer: response.body))
        let claim: PerennialContract.SeatClaim = try answer.decoded()
        return claim.claimID
    }
}

import AppStoreFormats
import Intake
import Ledger
import Testing

private let now = AppStoreDate(milliseconds: 1_790_000_000_000)

/// The values of a row of the JSON, read without our types.
private struct Told: Hashable {
    var original: String
    var transaction: String
    var product: String
    var until: Int64?

    init(original: String, transaction: String, product: String, until: Int64?) {
        self.original = original
        self.transaction = transaction
        self.product = product
        self.until = until
    }

    /// Returns nil if the row lacks a field without which there is no payment.
    init?(_ row: JSON) {
        guard let transaction = Self.text(row["transaction_id"]),
            let product = Self.text(row["product_id"]),
            row["purchase_date_ms"] != nil || row["purchase_date"] != nil
        else { return nil }
        self.transaction = transaction
        self.product = product
        original = Self.text(row["original_transaction_id"]) ?? transaction
        let texts = ["expires_date_ms", "expires_date"].compactMap { Self.text(row[$0]) }
        until = texts.compactMap { Int64($0) }.first
    }

    static func text(_ json: JSON?) -> String? {
        json.flatMap { $0.string ?? $0.integer.map { "\($0)" } }
    }
}

private func told(_ facts: [Fact]) -> Set<Told> {
    Set(
        facts.compactMap { fact in
            guard case .payment(let payment) = fact.statement else { return nil }
            return Told(
                original: fact.purchase.original.rawValue,
                transaction: payment.transaction.rawValue, product: payment.product.rawValue,
                until: payment.until?.milliseconds)
        })
}

private func rows(_ json: JSON?) -> [JSON] {
    json.flatMap { $0.array ?? ($0.members == nil ? nil : [$0]) } ?? []
}

/// Each published response and notification attests the transactions that it contains.
@Suite struct LegacyVectorTests {
    private static let answers = Vectors.files("verify-receipt-samples")
    private static let notifications = Vectors.files("v1-notification-samples")

    @Test(arguments: answers)
    func `a response attests each of its transactions once`(path: String) throws {
        let json = try Vectors.json(path)
        let isOld = json["receipt"]?["bid"] != nil || json["receipt"]?["transaction_id"] != nil
        let found: LegacyFacts
        var expected = rows(json["latest_receipt_info"]) + rows(json["latest_expired_receipt_info"])
        if isOld {
            expected += rows(json["receipt"])
            let answer = try #require(VerifyReceiptTransactionResponse(json: json))
            found = try Intake.facts(of: answer, in: .sandbox, answeredAt: now)
        } else {
            expected += rows(json["receipt"]?["in_app"])
            let answer = try #require(VerifyReceiptResponse(json: json))
            found = try Intake.facts(of: answer, in: .sandbox, answeredAt: now)
        }
        let ids = Set(expected.compactMap { Told($0) }.map { [$0.original, $0.transaction] })
        #expect(Set(told(found.facts).map { [$0.original, $0.transaction] }) == ids)
        // This file was edited manually: it lacks the dates in milliseconds that this test reads.
        if !path.contains("/05-") {
            #expect(told(found.facts).isSubset(of: Set(expected.compactMap { Told($0) })))
        }
        let renewals = rows(json["pending_renewal_info"]).filter {
            $0["auto_renew_status"] != nil && $0["original_transaction_id"] != nil
        }
        let top = isOld && json["auto_renew_status"] != nil ? 1 : 0
        #expect(found.facts.count - told(found.facts).count == renewals.count + top)
    }

    @Test(arguments: notifications)
    func `a notification attests each transaction once, and each renewal info once`(path: String)
        throws
    {
        let json = try Vectors.json(path)
        let notification = try #require(V1Notification(json: json))
        let found = try Intake.facts(
            of: notification, in: .production,
            attestedAt: notification.moment(receivedAt: now))
        let unified = json["unified_receipt"]
        let expected =
            rows(json["latest_receipt_info"]) + rows(json["latest_expired_receipt_info"])
            + rows(unified?["latest_receipt_info"])
        let ids = Set(expected.compactMap { Told($0) }.map { [$0.original, $0.transaction] })
        #expect(Set(told(found.facts).map { [$0.original, $0.transaction] }) == ids)
        let listed = rows(unified?["pending_renewal_info"])
        let top = listed.isEmpty && json["auto_renew_status"] != nil ? 1 : 0
        #expect(found.facts.count - told(found.facts).count == listed.count + top)
    }

    @Test(arguments: answers + notifications)
    func `exactly the cancelled transactions are attested as revoked`(path: String)
        throws
    {
        let json = try Vectors.json(path)
        let unified = json["unified_receipt"]
        let all =
            rows(json["latest_receipt_info"]) + rows(json["latest_expired_receipt_info"])
            + rows(unified?["latest_receipt_info"]) + rows(json["receipt"]?["in_app"])
        let expected = Set(
            all.filter { $0["cancellation_date_ms"] != nil || $0["cancellation_date"] != nil }
                .compactMap { Told($0)?.transaction })
        let facts: [Fact]
        if json["notification_type"] != nil {
            let notification = try #require(V1Notification(json: json))
            facts = try Intake.facts(of: notification, in: .sandbox, attestedAt: now).facts
        } else if json["receipt"]?["bid"] != nil {
            let answer = try #require(VerifyReceiptTransactionResponse(json: json))
            facts = try Intake.facts(of: answer, in: .sandbox, answeredAt: now).facts
        } else {
            let answer = try #require(VerifyReceiptResponse(json: json))
            facts = try Intake.facts(of: answer, in: .sandbox, answeredAt: now).facts
        }
        let revoked = facts.compactMap { fact -> String? in
            guard case .payment(let payment) = fact.statement, payment.revocation != nil else {
                return nil
            }
            return payment.transaction.rawValue
        }
        #expect(Set(revoked).isSuperset(of: expected))
        if json["web_order_line_item_id"] == nil { #expect(Set(revoked) == expected) }
    }
}

import AppStoreFormats
import Dice
import Foundation
import Intake
import Ledger
import Testing

/// Random damage to responses of verifyReceipt and to notifications of version 1. Prints its seed.
/// PERENNIAL_SEED sets it, and PERENNIAL_ROUNDS sets the number of rounds.
@Suite struct LegacyDamageTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let rounds = environment["PERENNIAL_ROUNDS"].flatMap(Int.init) ?? 20_000

    /// The characters of JSON, so that damaged text is often still JSON.
    private static let marks = Array("0123456789-abz{}[]\",:.eE".utf8)
    private static let seed: UInt64 = {
        let seed =
            environment["PERENNIAL_SEED"].flatMap(UInt64.init) ?? .random(in: 0...UInt64.max)
        print("LegacyDamageTests: PERENNIAL_SEED=\(seed)")
        return seed
    }()

    private static let row =
        #"{"transaction_id":"2","original_transaction_id":"1","product_id":"pro","quantity":"1","#
        + #""purchase_date_ms":"1700000000000","expires_date":"2023-12-14 22:13:20 Etc/GMT","#
        + #""expires_date_ms":"1702592000000","web_order_line_item_id":"7","#
        + #""cancellation_date_pst":"2023-11-15 01:00:00 America/Los_Angeles"}"#

    private static let renewal =
        #"{"original_transaction_id":"1","auto_renew_status":"1","is_in_billing_retry_period":"0","#
        + #""grace_period_expires_date_ms":"1702692000000","expiration_intent":"2"}"#

    private static let answer =
        #"{"status":0,"environment":"Sandbox","receipt":{"bundle_id":"x","in_app":["# + row
        + #"]},"latest_receipt_info":["# + row + #"],"pending_renewal_info":["# + renewal + "]}"

    private static let notification =
        #"{"notification_type":"DID_RENEW","password":"c0ffee","auto_renew_status":"true","#
        + #""latest_receipt_info":"# + row + #","original_transaction_id":1,"unified_receipt":"#
        + #"{"latest_receipt_info":["# + row + #"],"pending_renewal_info":["# + renewal + "]}}"

    private static let now = AppStoreDate(milliseconds: 1_790_000_000_000)

    @Test func `a damaged response is refused, or attests one fact per transaction`() throws {
        var generator = Dice(seed: Self.seed)
        var readable = 0
        for _ in 0..<Self.rounds {
            let bytes = generator.damaged(Array(Self.answer.utf8), places: 2, marks: Self.marks)
            guard let json = try? JSON(parsing: bytes) else { continue }
            guard let answer = VerifyReceiptResponse(json: json) else { continue }
            readable += 1
            let found = try Intake.facts(of: answer, in: .sandbox, answeredAt: Self.now)
            check(found)
            #expect(
                try VerifyReceiptResponse(parsing: answer.json.bytes) == answer,
                "\(String(decoding: bytes, as: UTF8.self))")
            if let old = VerifyReceiptTransactionResponse(json: json) {
                check(try Intake.facts(of: old, in: .sandbox, answeredAt: Self.now))
            }
        }
        #expect((1..<Self.rounds).contains(readable))
    }

    @Test func `a damaged notification is refused, or attests one fact per transaction`() throws {
        var generator = Dice(seed: Self.seed)
        var readable = 0
        for _ in 0..<Self.rounds {
            let bytes = generator.damaged(
                Array(Self.notification.utf8), places: 2, marks: Self.marks)
            guard let json = try? JSON(parsing: bytes), let told = V1Notification(json: json) else {
                continue
            }
            readable += 1
            let moment = told.moment(receivedAt: Self.now)
            #expect(moment <= Self.now)
            check(try Intake.facts(of: told, in: .sandbox, attestedAt: moment))
            let identity = V1Notification.identity(of: json)
            #expect(V1Notification.identity(of: try JSON(parsing: identity)) == identity)
        }
        #expect((1..<Self.rounds).contains(readable))
    }

    private func check(_ found: LegacyFacts) {
        let names = found.facts.compactMap { fact -> String? in
            guard case .payment(let payment) = fact.statement else { return nil }
            return "\(fact.purchase) \(payment.transaction)"
        }
        #expect(Set(names).count == names.count)
        #expect(found.facts.allSatisfy { $0.grade == .legacy })
    }
}

import AppStoreFormats
import Testing

@testable import Simulator

/// What the rows and renewals of verifyReceipt contain about offers, upgrades, prices and families.
@Suite struct VerifyReceiptRowTests {
    typealias Step = LifecycleTableTests.Step

    struct Turn: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let steps: [Step]
        var device = "anna-1"
        /// The expected members of the answer by their path; null if a member must be absent.
        let says: [String: JSON]
    }

    private static let rise = PriceRise.Order(price: 12_990, needsConsent: true)

    static let turns = [
        Turn(
            testDescription: "an offer code",
            steps: [.order(PurchaseOrder("pro", offerID: "code"))],
            says: [
                "latest_receipt_info.0.offer_code_ref_name": "code",
                "receipt.in_app.0.offer_code_ref_name": .null,
                "latest_receipt_info.0.is_in_intro_offer_period": "false",
            ]),
        Turn(
            testDescription: "a promotional offer for the next period",
            steps: [.buy("pro"), .order(PurchaseOrder("pro", offerID: "again"))],
            says: [
                "pending_renewal_info.0.promotional_offer_id": "again",
                "latest_receipt_info.0.promotional_offer_id": .null,
            ]),
        Turn(
            testDescription: "a promotional offer in force",
            steps: [
                .buy("pro"), .order(PurchaseOrder("pro", offerID: "again")), .waits("P1M"),
            ],
            says: ["latest_receipt_info.1.promotional_offer_id": "again"]),
        Turn(
            testDescription: "a paid introductory offer", steps: [.buy("discounted")],
            says: [
                "latest_receipt_info.0.is_in_intro_offer_period": "true",
                "latest_receipt_info.0.is_trial_period": "false",
                "receipt.in_app.0.is_in_intro_offer_period": "true",
            ]),
        Turn(
            testDescription: "a trial", steps: [.buy("trial")],
            says: [
                "latest_receipt_info.0.is_in_intro_offer_period": "false",
                "receipt.in_app.0.is_trial_period": "true",
            ]),
        Turn(
            testDescription: "an upgrade",
            steps: [.buy("pro"), .waits("P10D"), .does(.changeProduct("premium"))],
            says: [
                "latest_receipt_info.0.is_upgraded": "true",
                "latest_receipt_info.0.cancellation_date": "2026-01-20 20:00:00 Etc/GMT",
                "latest_receipt_info.1.is_upgraded": .null,
                "pending_renewal_info.0.product_id": "premium",
            ]),
        Turn(
            testDescription: "a pending downgrade",
            steps: [.buy("pro"), .does(.changeProduct("plus"))],
            says: [
                "pending_renewal_info.0.product_id": "pro",
                "pending_renewal_info.0.auto_renew_product_id": "plus",
            ]),
        Turn(
            testDescription: "a price increase without consent yet",
            steps: [.buy("pro"), .does(.raisePrice(rise))],
            says: [
                "pending_renewal_info.0.price_consent_status": "0",
                "pending_renewal_info.0.price_increase_status": "0",
            ]),
        Turn(
            testDescription: "a price increase with consent",
            steps: [.buy("pro"), .does(.raisePrice(rise)), .does(.consent)],
            says: ["pending_renewal_info.0.price_consent_status": "1"]),
        Turn(
            testDescription: "a purchase that a family shares", steps: [.household, .buy("pro")],
            device: "ben-1",
            says: [
                "receipt.in_app.0.in_app_ownership_type": "FAMILY_SHARED",
                "latest_receipt_info.0.in_app_ownership_type": "FAMILY_SHARED",
            ]),
        Turn(
            testDescription: "the end of family sharing",
            steps: [.household, .buy("pro"), .does(.refund())], device: "ben-1",
            says: ["latest_receipt_info.0.cancellation_date": "2026-01-10 20:00:00 Etc/GMT"]),
    ]

    @Test(arguments: turns)
    func `each event changes the same fields of verifyReceipt as at Apple`(turn: Turn)
        async throws
    {
        let stage = try Stage(shop: TableShop.file())
        try await stage.play(turn.steps)
        var request = VerifyReceiptRequest()
        request.receiptData = try await stage.simulator.receipt(on: turn.device)
        request.password = SimulatorSettings.wellKnownSecret
        let answer = try await stage.simulator.verifyReceipt(request.json.bytes, at: .production)
        #expect(answer["status"] == 0)
        for (path, expected) in turn.says {
            var json = answer
            for name in path.split(separator: ".").map(String.init) {
                let element = Int(name).flatMap { place in
                    json.array.flatMap { $0.indices.contains(place) ? $0[place] : nil }
                }
                json = element ?? json[name] ?? .null
            }
            #expect(json == expected, "\(path)")
        }
    }

    @Test func `a consumable leaves the receipt when it is finished`() async throws {
        let stage = try Stage(shop: TableShop.file())
        let id = try await stage.buy("gem").transactionID
        try await stage.buy("map")
        #expect(try await stage.simulator.transactionIDs(on: "anna-1").contains(id))
        try await stage.simulator.finish(id, on: "anna-1")
        let left = try await stage.simulator.transactionIDs(on: "anna-1")
        #expect(left.count == 1 && !left.contains(id))
    }
}

extension AppStoreSimulator {
    /// The transactions in a device's receipt.
    fileprivate func transactionIDs(on deviceID: String) throws -> [String] {
        let text = try receipt(on: deviceID)
        let file = try require(Base64.standard.decode(Array(text.utf8)), "no Base64")
        let receipt = try authority.receipts.receipt(in: file)
        return receipt.purchases.compactMap { $0[.transactionID]?.text }
    }
}

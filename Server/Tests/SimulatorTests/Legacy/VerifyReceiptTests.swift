import AppStoreFormats
import Testing

@testable import Simulator

/// What verifyReceipt answers, and when.
@Suite struct VerifyReceiptTests {
    private static let secret = SimulatorSettings.wellKnownSecret

    private func ask(
        _ stage: Stage, _ receipt: String, password: String? = secret, exclude: Bool? = nil,
        at environment: SimulatedEnvironment = .production
    ) async throws -> JSON {
        var request = VerifyReceiptRequest()
        request.receiptData = receipt
        request.password = password
        request.excludesOldTransactions = exclude
        return try await stage.simulator.verifyReceipt(request.json.bytes, at: environment)
    }

    private func answer(
        _ stage: Stage, _ receipt: String, exclude: Bool? = nil
    ) async throws -> VerifyReceiptResponse {
        let json = try await ask(stage, receipt, exclude: exclude)
        return try require(VerifyReceiptResponse(json: json), "no answer")
    }

    @Test func `verifyReceipt returns the submitted receipt, and the account's latest rows`()
        async throws
    {
        let stage = try Stage()
        try await stage.buy("pro.monthly")
        let receipt = try await stage.simulator.receipt(on: "anna-1")
        try await stage.advance("P2M")
        let answer = try await answer(stage, receipt)
        #expect(answer.status == .valid && answer.environment == .production)
        #expect(answer.receipt?.purchases?.count == 1)
        let expiries = ["2026-02-10T20:00:00Z", "2026-03-10T19:00:00Z", "2026-04-10T19:00:00Z"]
        #expect(try answer.latestRows?.map(\.expires) == expiries.map { try moment($0) })
        #expect(
            answer.latestRows?.map(\.subscriptionGroupID) == ["21400001", "21400001", "21400001"])
        #expect(answer.renewals?.map(\.autoRenewStatus) == [.on])
        #expect(answer.renewals?.first?.expirationIntent == nil)
        #expect(answer.receipt?.requested == stage.simulator.clock.now)
    }

    @Test func `latest_receipt contains later purchases, and still matches the device`()
        async throws
    {
        let stage = try Stage()
        try await stage.buy("pro.monthly")
        let text = try await stage.simulator.receipt(on: "anna-1")
        try await stage.advance("P1M")
        let latest = try require(try await answer(stage, text).latestReceipt, "no receipt")
        let authority = try stage.simulator.authority.receipts
        let (old, new) = try (receipt(text, authority), receipt(latest, authority))
        #expect((old.purchases.count, new.purchases.count) == (1, 2))
        #expect(new[.deviceHash] == old[.deviceHash] && new[.opaqueValue] == old[.opaqueValue])
        #expect(new[.created]?.date == stage.simulator.clock.now)
    }

    private func receipt(_ text: String, _ authority: ReceiptAuthority) throws -> AppReceipt {
        let file = try require(Base64.standard.decode(Array(text.utf8)), "no Base64")
        return try authority.receipt(in: file)
    }

    @Test
    func `with exclude-old-transactions, verifyReceipt returns each subscription's newest row`()
        async throws
    {
        let stage = try Stage()
        try await stage.buy("pro.monthly")
        try await stage.advance("P2M")
        let receipt = try await stage.simulator.receipt(on: "anna-1")
        let answer = try await answer(stage, receipt, exclude: true)
        #expect(try answer.latestRows?.map(\.expires) == [moment("2026-04-10T19:00:00Z")])
        #expect(answer.receipt?.purchases?.count == 3)
    }

    @Test func `for an account without subscriptions, verifyReceipt returns only the receipt`()
        async throws
    {
        let gems = StoreKitProduct(id: "gems", referenceName: "", type: .consumable, price: 990)
        let stage = try Stage(shop: StoreKitFile(oneTimeProducts: [gems]))
        try await stage.buy("gems")
        let receipt = try await stage.simulator.receipt(on: "anna-1")
        let json = try await ask(stage, receipt, password: nil)
        #expect(json.members?.map(\.key) == ["environment", "receipt", "status"])
    }

    @Test func `the renewal in verifyReceipt shows each stage of a failing payment`() async throws {
        let stage = try Stage()
        let id = try await stage.buy("pro.monthly").originalTransactionID
        let receipt = try await stage.simulator.receipt(on: "anna-1")
        try await stage.simulator.change(id, .failBilling)
        var seen: [String] = []
        for wait in ["PT1S", "P1M", "P17D", "P60D"] {
            try await stage.advance(wait)
            let renewal = try require(try await answer(stage, receipt).renewals?.first, "none")
            let parts: [Int64?] = [
                renewal.isInBillingRetry?.rawValue, renewal.expirationIntent?.rawValue,
                renewal.autoRenewStatus?.rawValue,
            ]
            let grace = renewal.graceUntil == nil ? "" : " grace"
            seen.append(parts.map { $0.map(String.init) ?? "-" }.joined() + grace)
        }
        #expect(seen == ["--1", "121 grace", "121", "020"])
    }

    @Test func `each refusal of verifyReceipt has its status; some also name the environment`()
        async throws
    {
        let stage = try Stage()
        try await stage.buy("pro.monthly")
        try await stage.simulator.addDevice(account: "ben", environment: .sandbox)
        try await stage.buy("pro.monthly", on: "ben-1")
        let production = try await stage.simulator.receipt(on: "anna-1")
        let sandbox = try await stage.simulator.receipt(on: "ben-1")
        let broken = try changed(production)
        let foreign = try await foreignReceipt()
        #expect(try await ask(stage, "foobar").text == #"{"status":21002}"#)
        #expect(try await ask(stage, "").text == #"{"status":21002}"#)
        #expect(try await ask(stage, broken).text == #"{"status":21003}"#)
        #expect(try await ask(stage, sandbox).text == #"{"status":21007}"#)
        #expect(try await ask(stage, production, at: .sandbox).text == #"{"status":21008}"#)
        for password in [nil, "wrong"] {
            let answer = try await ask(stage, production, password: password)
            #expect(answer.text == #"{"environment":"Production","status":21004}"#)
        }
        #expect(
            try await ask(stage, foreign).text
                == #"{"environment":"Production","status":21010,"is_retryable":false}"#)
        #expect(try await ask(stage, sandbox, at: .sandbox)["status"] == 0)
    }

    /// Returns the receipt with another last byte, which is part of the signature.
    private func changed(_ receipt: String) throws -> String {
        var file = try require(Base64.standard.decode(Array(receipt.utf8)), "no Base64")
        file[file.count - 1] ^= 1
        return String(decoding: Base64.standard.encode(file), as: UTF8.self)
    }

    /// Returns a receipt of another world under the same root. This world does not know the account
    /// of that receipt.
    private func foreignReceipt() async throws -> String {
        let stage = try Stage { $0.seed = 77 }
        try await stage.buy("pro.monthly")
        return try await stage.simulator.receipt(on: "anna-1")
    }

    @Test func `verifyReceipt reads a receipt with line breaks`() async throws {
        let stage = try Stage()
        try await stage.buy("pro.monthly")
        var receipt = try await stage.simulator.receipt(on: "anna-1")
        receipt.insert(contentsOf: "\r\n", at: receipt.index(receipt.startIndex, offsetBy: 76))
        #expect(try await ask(stage, receipt)["status"] == 0)
    }

    @Test func `verifyReceipt returns a status set by a test for the set number of times`()
        async throws
    {
        let stage = try Stage()
        try await stage.buy("pro.monthly")
        let receipt = try await stage.simulator.receipt(on: "anna-1")
        let trouble = VerifyReceiptStatus(rawValue: 21104)
        try await stage.simulator.order(OrderedStatus(status: trouble, isRetryable: true), times: 2)
        let text = #"{"environment":"Production","status":21104,"is-retryable":true}"#
        for _ in 1...2 { #expect(try await ask(stage, receipt).text == text) }
        #expect(try await ask(stage, receipt)["status"] == 0)
    }

    @Test func `verifyReceipt in the style of iOS 6 returns 21006 once the subscription has ended`()
        async throws
    {
        let stage = try Stage()
        let id = try await stage.buy("pro.monthly").transactionID
        let receipt = try await stage.simulator.transactionReceipt(of: id)
        try await stage.advance("P1M")
        let active = try await ask(stage, receipt)
        #expect(active["status"] == 0 && active["auto_renew_status"] == 1)
        #expect(active["receipt"]?["expires_date"] == "1770753600000")
        #expect(active["latest_receipt_info"]?["expires_date"] == "1773169200000")
        #expect(active["latest_receipt"]?.string?.isEmpty == false)
        try await stage.simulator.change(id, .cancel)
        try await stage.advance("P2M")
        let expired = try await ask(stage, receipt)
        #expect(expired["status"] == 21006 && expired["expiration_intent"] == "1")
        #expect(expired["latest_receipt_info"] == nil && expired["latest_receipt"] == nil)
        #expect(expired["latest_expired_receipt_info"]?["expires_date"] == "1773169200000")
        #expect(expired["is_in_billing_retry_period"] == "0")
        let refused = try await ask(stage, receipt, password: nil)
        #expect(refused["status"] == 21004)
    }

    private func keys(_ json: JSON?) -> Set<String> { Set((json?.members ?? []).map(\.key)) }

    /// The keys of each object, and whether their values are text, numbers, lists or objects.
    private func shape(_ json: JSON?) -> [String: String] {
        let pairs = (json?.members ?? []).map { member in
            let kind =
                switch member.value {
                case .string: "text"
                case .integer, .decimal: "number"
                case .bool: "bool"
                case .array: "list"
                case .object: "object"
                case .null: "null"
                }
            return (member.key, kind)
        }
        return Dictionary(uniqueKeysWithValues: pairs)
    }

    @Test(.enabled(if: LegacyVectors.arePresent))
    func `our answer has the same structure as one of Apple's answers from 2023`() async throws {
        let path = "verify-receipt-samples/20-production-intro-offer-1.json"
        let theirs = try LegacyVectors.json(path)
        let stage = try Stage()
        try await stage.buy("pro.monthly")
        let ours = try await ask(stage, try await stage.simulator.receipt(on: "anna-1"))
        #expect(shape(ours) == shape(theirs))
        #expect(ours.members?.map(\.key) == theirs.members?.map(\.key))
        let places: [(JSON) -> JSON?] = [
            { $0["receipt"] }, { $0["receipt"]?["in_app"]?.array?.first },
            { $0["latest_receipt_info"]?.array?.first },
            { $0["pending_renewal_info"]?.array?.first },
        ]
        for place in places {
            #expect(shape(place(ours)) == shape(place(theirs)))
            #expect(place(ours)?.members?.map(\.key) == place(theirs)?.members?.map(\.key))
        }
    }

    @Test(.enabled(if: LegacyVectors.arePresent))
    func `our answers in the style of iOS 6 have the same keys as published examples`() async throws
    {
        let gems = StoreKitProduct(id: "gems", referenceName: "", type: .consumable, price: 990)
        let shop = StoreKitFile(oneTimeProducts: [gems], groups: try ExampleShop.file().groups)
        let stage = try Stage(shop: shop)
        let gem = try await stage.buy("gems").transactionID
        let bought = try await ask(stage, try await stage.simulator.transactionReceipt(of: gem))
        let consumable = try LegacyVectors.json(
            "verify-receipt-samples/22-ios6-consumable-production-2018.json")
        #expect(keys(bought) == keys(consumable))
        // Our answers of 2026 contain the subscription's group, which those of 2019 lack.
        #expect(keys(consumable["receipt"]).subtracting(keys(bought["receipt"])) == [])
        let id = try await stage.buy("pro.yearly").transactionID
        try await stage.simulator.change(id, .cancel)
        try await stage.advance("P8D")
        let ended = try await ask(stage, try await stage.simulator.transactionReceipt(of: id))
        let trial = try LegacyVectors.json(
            "verify-receipt-samples/04-ios6-21006-trial-expired-2019.json")
        #expect(shape(ended) == shape(trial))
        for key in ["receipt", "latest_expired_receipt_info"] {
            let more = keys(ended[key]).subtracting(keys(trial["receipt"]))
            #expect(more == ["subscription_group_identifier"])
            #expect(keys(trial[key]).subtracting(keys(ended[key])) == [])
        }
    }
}

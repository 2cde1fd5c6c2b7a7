import AppStoreFormats
import AppStoreTrust
import Foundation
import Simulator
import Testing

/// Compares the simulator's receipts with its signed transactions: our reader reads each attribute,
/// and each value agrees with the books.
@Suite(.serialized) struct ReceiptBookStories {
    private typealias Field = InAppReceipt.Field

    /// Apple's receipts contain these attributes besides those whose meaning is known.
    private static let empty: [Field] = [
        .empty1709, .empty1714, .empty1715, .empty1716, .empty1717, .empty1718, .zero,
    ]

    @Test(arguments: ["sha256", "sha1"])
    func `the attributes of a simulated receipt agree with the signed transactions and the clock`(
        digest: String
    ) async throws {
        try await withShop(on: .sqlite, notifies: false) { shop in
            try await shop.simulator.post("/_sim/reset", ["receipt_digest": .string(digest)])
            try await shop.simulator.post("/_sim/faults", ["notifications": ["drop": 1]])
            try await Self.live(shop)
            let receipt = try await Self.receipt(shop, digest)
            let transactions = try await Self.transactions(shop)
            #expect(transactions.count >= 6)
            #expect(receipt.payload.purchases.count == transactions.count)
            for purchase in receipt.payload.purchases {
                let id = try #require(purchase[.transactionID]?.text)
                let signed = try #require(transactions[id], "\(id)")
                try Self.compare(purchase, signed)
            }
            let clock = try await shop.simulator.get("/_sim/clock").text("now")
            try Self.compare(receipt.payload, at: try #require(Self.moment(clock)))
        }
    }

    private static let products = ["pro.yearly", "season.spring", "guide", "seeds.100"]

    /// Plays a subscription that begins with a trial and is refunded, a non-consumable, a
    /// consumable, and a non-renewing subscription.
    private static func live(_ shop: Shop) async throws {
        try await shop.addDevice("anna")
        for product in products {
            try await shop.simulator.post(
                "/_sim/devices/anna-1/purchases", ["product_id": .string(product)])
        }
        try await shop.simulator.post("/_sim/clock", ["advance": "P400D"])
        let all = try await shop.simulator.get("/_sim/devices/anna-1/transactions")
        let first = try #require(all["signed_transactions"]?.array?.first?.string)
        let payload = try #require(CompactJWS(first)?.payload)
        let id = try JSON(parsing: payload).text("transactionId")
        try await shop.simulator.post("/_sim/transactions/\(id)/refund")
    }

    private static func receipt(
        _ shop: Shop, _ digest: String
    ) async throws -> Verified<AppReceipt> {
        let answer = try await shop.simulator.get("/_sim/devices/anna-1/receipt")
        let file = try #require(ReceiptText.bytes(of: try answer.text("app_receipt")))
        let text = try answer.text("device_guid").filter { $0 != "-" }
        let guid = stride(from: 0, to: text.count, by: 2).compactMap { offset in
            UInt8(text.dropFirst(offset).prefix(2), radix: 16)
        }
        let root = Array(try await shop.simulator.send("GET", "/_sim/receipt-root.cer").body)
        let app = AppIdentity(
            bundleID: ExampleShop.bundleID, appAppleID: ExampleShop.appAppleID,
            environments: [.production])
        let verifier = Verifier(roots: try TrustRoots(der: [root]))
        // The receipt of this device, with this hash algorithm.
        let outcome = await verifier.receipt(
            file, for: app, guid: guid, at: AppStoreDate(milliseconds: 4_000_000_000_000))
        guard case .verified(let receipt) = outcome else {
            throw Wire.Unexpected(description: "\(outcome)")
        }
        let identifiers: [String: [UInt8]] = [
            "sha1": [0x06, 0x05, 0x2B, 0x0E, 0x03, 0x02, 0x1A],
            "sha256": [0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01],
        ]
        // The file names the hash algorithm near its beginning, before the certificates.
        let head = Array(file.prefix(80))
        for (name, bytes) in identifiers {
            #expect((head.firstRange(of: bytes) != nil) == (name == digest), "\(name)")
        }
        return receipt
    }

    /// The moment, rounded to the second as in receipts.
    private static func moment(_ text: String) -> AppStoreDate? {
        let format = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        guard let date = try? format.parse(text) else { return nil }
        return AppStoreDate(milliseconds: Int64(date.timeIntervalSince1970) * 1000)
    }

    private static func transactions(_ shop: Shop) async throws -> [String: TransactionPayload] {
        let all = try await shop.simulator.get("/_sim/devices/anna-1/transactions")
        var found: [String: TransactionPayload] = [:]
        for jws in (all["signed_transactions"]?.array ?? []).compactMap(\.string) {
            let bytes = try #require(CompactJWS(jws)?.payload)
            let payload = try TransactionPayload(parsing: bytes)
            found[payload.transactionId ?? ""] = payload
        }
        return found
    }

    private static func compare(_ purchase: InAppReceipt, _ signed: TransactionPayload) throws {
        var read: Set<Field> = Set(empty)
        func text(_ field: Field, _ expected: String?) {
            read.insert(field)
            #expect(purchase[field]?.text ?? nil == expected, "\(field)")
        }
        func number(_ field: Field, _ expected: Int64?) {
            read.insert(field)
            #expect(purchase[field]?.integer ?? nil == expected, "\(field)")
        }
        func date(_ field: Field, _ expected: AppStoreDate?) {
            read.insert(field)
            // Rounded to the second, because receipts have no fractions of a second.
            let seconds = expected.map { $0.milliseconds / 1000 }
            #expect(purchase[field]?.date.map { $0.milliseconds / 1000 } == seconds, "\(field)")
        }
        let isSubscription = signed.type == .autoRenewable
        let isIntroductory = signed.offerType == .introductory
        let isFree = signed.offerDiscountType == .freeTrial
        text(.transactionID, signed.transactionId)
        text(.originalTransactionID, signed.originalTransactionId)
        text(.productID, signed.productId)
        number(.quantity, signed.quantity)
        number(.kind, signed.type.flatMap { ReceiptProductKind($0)?.rawValue })
        number(.webOrderLineItemID, Int64(signed.webOrderLineItemId ?? "0"))
        date(.purchased, signed.purchaseDate)
        date(.originallyPurchased, signed.originalPurchaseDate)
        date(.expires, signed.expiresDate)
        date(.cancelled, signed.revocationDate)
        number(.isTrial, isIntroductory && isFree ? 1 : 0)
        number(.isIntroductory, isSubscription ? (isIntroductory && !isFree ? 1 : 0) : nil)
        number(.isFamilyShared, signed.inAppOwnershipType == .familyShared ? 1 : 0)
        number(.cancellationReason, signed.revocationReason?.rawValue)
        let offer = signed.offerType == .promotional ? signed.offerIdentifier : nil
        text(.promotionalOfferID, offer)
        let written = Set(purchase.attributes.map(\.number))
        let others = written.subtracting(read.map(\.rawValue))
        #expect(others.isEmpty, "attributes that were not compared")
    }

    private static func compare(_ receipt: AppReceipt, at now: AppStoreDate) throws {
        let texts: [AppReceipt.Field: String] = [
            .bundleID: ExampleShop.bundleID, .receiptType: ReceiptType.production.rawValue,
            .applicationVersion: "1", .originalApplicationVersion: "1", .ageRating: "4+",
            .empty20: "",
        ]
        for (field, text) in texts { #expect(receipt[field]?.text == text, "\(field)") }
        #expect(receipt[.appAppleID]?.integer == ExampleShop.appAppleID)
        #expect(receipt[.three]?.integer == 3)
        #expect(receipt[.created]?.date == now)
        let dates: [AppReceipt.Field] = [.downloaded, .originallyPurchased]
        for field in dates { #expect(receipt[field]?.date.map { $0 <= now } == true, "\(field)") }
        let numbers: [AppReceipt.Field] = [
            .softwareBuild, .clientVersion, .counter, .developerID, .downloadID,
            .versionExternalIdentifier,
        ]
        for field in numbers { #expect((receipt[field]?.integer ?? 0) > 0, "\(field)") }
        // The verifier itself compares the hash with the device's identifier.
        let raw: [AppReceipt.Field] = [.opaqueValue, .deviceHash, .opaque6, .opaque7]
        for field in raw { #expect(receipt[field]?.value.isEmpty == false, "\(field)") }
        let read =
            Array(texts.keys) + dates + numbers + raw + [.appAppleID, .three, .created]
        let others = Set(receipt.attributes.map(\.number)).subtracting(read.map(\.rawValue))
        #expect(others.isEmpty, "not compared")
        #expect(receipt.attributes.count == Set(receipt.attributes.map(\.number)).count)
        #expect(try AppReceipt(parsing: receipt.bytes) == receipt)
    }
}

import AppStoreFormats
import Testing

/// Payloads from Apple's own examples.
@Suite(.enabled(if: Vectors.arePresent, "skipped: no vectors"))
struct ApplePayloadTests {
    private static let payloads: [(String, any WireObject.Type)] = [
        ("signedTransaction", TransactionPayload.self),
        ("signedTransactionWithRevocation", TransactionPayload.self),
        ("signedRenewalInfo", RenewalPayload.self),
        ("signedNotification", NotificationPayload.self),
        ("signedSummaryNotification", NotificationPayload.self),
        ("signedConsumptionRequestNotification", NotificationPayload.self),
        ("signedExternalPurchaseTokenNotification", NotificationPayload.self),
        ("signedExternalPurchaseTokenSandboxNotification", NotificationPayload.self),
        ("signedRescindConsentNotification", NotificationPayload.self),
        ("appTransaction", AppTransactionPayload.self),
        ("appData", NotificationAppData.self),
        ("advancedCommerceDescriptors", AdvancedCommerceDescriptors.self),
        ("advancedCommerceOffer", AdvancedCommerceOffer.self),
    ]

    @Test func `Apple's example payloads have no unknown field and are written back unchanged`()
        throws
    {
        for (name, payload) in Self.payloads {
            let json = try JSON(parsing: Vectors.bytes("apple-library/models/\(name).json"))
            let read = payload.init(json: json)
            let value = try #require(read, "\(name)")
            #expect(unknownKeys(in: value) == [], "\(name)")
            #expect(value.json.sorted == json.sorted, "\(name)")
            #expect(value.bytes == value.json.bytes, "\(name)")
        }
    }

    /// The keys that our reader does not know, in the value and in all nested values.
    private func unknownKeys(in value: Any) -> [String] {
        Mirror(reflecting: value).children.flatMap { label, child -> [String] in
            if label == "unknown", let members = child as? [JSON.Member] {
                return members.map(\.key)
            }
            return unknownKeys(in: child)
        }
    }

    @Test func `unknown keys are found at every depth`() throws {
        let text = #"{"x":1,"advancedCommerceInfo":{"items":[{"y":1}]}}"#
        let payload = try TransactionPayload(parsing: text.utf8)
        #expect(unknownKeys(in: payload).sorted() == ["x", "y"])
    }

    @Test func `all of Apple's example texts are written back with the same values`() throws {
        let models = try Vectors.models()
        #expect(models.count >= 75)
        for model in models {
            let json = try JSON(parsing: model.text)
            #expect(try JSON(parsing: json.bytes) == json, "\(model.name)")
        }
    }

    @Test func `Xcode's documents are read, including fractional times and new fields`() throws {
        func payload(_ name: String) throws -> [UInt8] {
            let jws = try CompactJWS(Vectors.bytes("apple-library/xcode/xcode-signed-" + name))
            return try #require(jws?.payload)
        }
        let transaction = try TransactionPayload(parsing: payload("transaction"))
        #expect(transaction.environment == .xcode)
        #expect(transaction.purchaseDate == AppStoreDate(milliseconds: 1_697_679_936_049))
        #expect(unknownKeys(in: transaction) == [])
        let renewal = try RenewalPayload(parsing: payload("renewal-info"))
        #expect(renewal.renewalDate == AppStoreDate(milliseconds: 1_700_358_336_049))
        let app = try AppTransactionPayload(parsing: payload("app-transaction"))
        #expect(app.originalPurchaseDate == AppStoreDate(milliseconds: -62_135_769_600_000))
        #expect(app.unknown == [.init("requestDate", .decimal("1697680122257.447"))])
    }

    @Test func `Apple's signed examples are unchanged after packing and unpacking`() throws {
        for name in ["transactionInfo", "renewalInfo", "testNotification"] {
            let jws = try Vectors.bytes("apple-library/mock_signed_data/" + name)
            let packed = PackedDocument(packing: jws)
            #expect(packed.unpacked == jws)
            #expect(packed.headers.count == 1)
        }
    }
}

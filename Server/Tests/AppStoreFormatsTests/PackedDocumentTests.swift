import AppStoreFormats
import Testing

@Suite struct PackedDocumentTests {
    private static let header: JSON = [
        "alg": "ES256",
        "x5c": .array([1432, 1060, 780].map { .string(String(repeating: "M", count: $0)) }),
    ]

    private static func jws(_ payload: JSON, header: JSON = header) -> String {
        let signature = (0..<64).map { UInt8($0 * 3) }
        let segments = [header.bytes, payload.bytes, signature].map { Base64.url.encode($0) }
        return segments.map { String(decoding: $0, as: UTF8.self) }.joined(separator: ".")
    }

    private static let transaction: JSON = [
        "transactionId": "2000000123456789", "originalTransactionId": "2000000123456789",
        "bundleId": "com.example.garden", "productId": "com.example.garden.pro.monthly",
        "purchaseDate": 1_772_323_200_000, "expiresDate": 1_775_001_600_000,
        "type": "Auto-Renewable Subscription", "inAppOwnershipType": "PURCHASED",
        "signedDate": 1_772_323_200_000, "environment": "Production", "price": 9990,
        "storefront": "USA", "currency": "USD", "appTransactionId": "704000000000000001",
    ]
    private static let renewal: JSON = [
        "originalTransactionId": "2000000123456789", "autoRenewStatus": 1,
        "autoRenewProductId": "com.example.garden.pro.monthly",
        "environment": "Production", "signedDate": 1_772_323_200_000,
    ]

    private static func notification(_ transaction: JSON, _ renewal: JSON) -> JSON {
        [
            "notificationType": "DID_RENEW",
            "notificationUUID": "002e14d5-51f5-4503-b5a8-c3a1af68eb20",
            "data": [
                "bundleId": "com.example.garden", "environment": "Production",
                "signedTransactionInfo": transaction, "signedRenewalInfo": renewal,
            ],
        ]
    }

    private static var notificationBytes: [UInt8] {
        Array(jws(notification(.string(jws(transaction)), .string(jws(renewal)))).utf8)
    }

    @Test
    func `a notification is unchanged after unpacking, and the header of its JWS is stored once`() {
        let packed = PackedDocument(packing: Self.notificationBytes)
        #expect(packed.unpacked == Self.notificationBytes)
        #expect(packed.headers.count == 1)
    }

    @Test func `a packed notification is hardly larger than its content`() {
        let said =
            Self.notification("", "").bytes.count + Self.transaction.bytes.count
            + Self.renewal.bytes.count + 3 * 64
        let packed = PackedDocument(packing: Self.notificationBytes)
        #expect(Double(packed.parts.count) < Double(said) * 1.1)
        #expect(packed.parts.count * 8 < Self.notificationBytes.count)
    }

    @Test func `a posted body is packed as compactly as the document in it`() {
        let body = Array(#"{"signedPayload":""#.utf8) + Self.notificationBytes + Array("\"}".utf8)
        let packed = PackedDocument(packing: body)
        #expect(packed.unpacked == body)
        #expect(packed.headers.count == 1)
        #expect(packed.parts.count * 8 < body.count)
    }

    @Test func `JWS with different headers and deeper nesting are unchanged after unpacking`() {
        var text = Self.jws(["a": 1], header: ["alg": "none"])
        for level in 0..<6 {
            text = Self.jws(["level": .integer(Int64(level)), "in": .string(text)])
        }
        let packed = PackedDocument(packing: Array(text.utf8))
        #expect(packed.unpacked == Array(text.utf8))
        #expect(packed.headers.count == 1)
    }

    @Test
    func `headers above the limit stay in the text of a packed document`() {
        let documents = (0..<40).map { Self.jws(["a": 1], header: ["n": .integer($0)]) }
        let text = Array(documents.joined(separator: "\"").utf8)
        let packed = PackedDocument(packing: text)
        #expect(packed.unpacked == text)
        #expect(packed.headers.count == PackedDocument.headersMax)
    }

    @Test(arguments: [
        "", "x", "eyJ", "eyJ.eyJ.eyJ", "eyJhIjoxfQ.e30.AB", "eyJhIjoxfQ.e30=.AA",
        "eyJhIjoxfQ.e30.AA.", "..eyJhIjoxfQ.e30.AA", "{\"a\":\"eyJhIjoxfQ.e30.AA\"}",
    ])
    func `text that only resembles a JWS is unchanged after unpacking`(text: String) {
        #expect(PackedDocument(packing: Array(text.utf8)).unpacked == Array(text.utf8))
    }

    @Test func `a truncated packed document is never unpacked to the original document`() {
        let packed = PackedDocument(packing: Self.notificationBytes)
        for length in 0..<packed.parts.count {
            let cut = PackedDocument(
                parts: Array(packed.parts.prefix(length)), headers: packed.headers)
            #expect(cut.unpacked != Self.notificationBytes)
        }
        #expect(PackedDocument(parts: packed.parts, headers: []).unpacked == nil)
    }

    @Test(
        arguments: [
            [0], [0, 5, 1, 2], [1], [1, 0], [2, 3, 0, 5, 1], [3, 0], [255, 1, 0], [0, 128],
            [0, 255, 255, 255, 255, 255, 1], [2, 10, 2, 8, 2, 6, 2, 4, 2, 2, 2, 0],
        ] as [[UInt8]])
    func `damaged parts of a packed document cannot be unpacked`(parts: [UInt8]) {
        #expect(PackedDocument(parts: parts, headers: []).unpacked == nil)
    }
}

import AppStoreFormats
import Testing

@Suite struct ReceiptTests {
    private typealias Field = AppReceipt.Field

    private static let numbers: [(Int64, [UInt8])] = [
        (0, [2, 1, 0]), (127, [2, 1, 127]), (128, [2, 2, 0, 128]), (-1, [2, 1, 255]),
        (-128, [2, 1, 128]), (-129, [2, 2, 255, 127]),
        (2_000_000_123_357_229, [2, 7, 7, 0x1A, 0xFD, 0x50, 0xE7, 0x48, 0x2D]),
        (.max, [2, 8, 127, 255, 255, 255, 255, 255, 255, 255]),
        (.min, [2, 8, 128, 0, 0, 0, 0, 0, 0, 0]),
    ]

    @Test(arguments: numbers)
    func `integers have the shortest DER form and are read back`(
        number: Int64, bytes: [UInt8]
    ) {
        let attribute = ReceiptAttribute.integer(Field.counter, number)
        #expect(attribute.value == bytes && attribute.integer == number)
    }

    @Test func `unknown attributes are kept, and all attributes are sorted by their encoded bytes`()
        throws
    {
        let strange = ReceiptAttribute(4711, version: 3, value: [1, 2, 3])
        let receipt = AppReceipt(
            attributes: [.text(Field.bundleID, "com.example.birds"), strange],
            purchases: [InAppReceipt(attributes: [.integer(InAppReceipt.Field.quantity, 1)])])
        let again = try AppReceipt(parsing: receipt.bytes)
        #expect(again.attributes.contains(strange))
        #expect(again.bytes == receipt.bytes)
        // The attribute with the shorter encoding comes first.
        #expect(again.attributes.map(\.number) == [4711, 2])
        #expect(again[.bundleID]?.text == "com.example.birds")
        #expect(again.purchases.first?[.quantity]?.integer == 1)
    }

    @Test func `the DER length of a value of 128 bytes or more has several bytes`() throws {
        let text = String(repeating: "a", count: 70_000)
        let receipt = AppReceipt(attributes: [.text(Field.bundleID, text)])
        #expect(try AppReceipt(parsing: receipt.bytes)[.bundleID]?.text == text)
    }

    @Test func `reading an attribute as the wrong type returns nil`() {
        let text = ReceiptAttribute.text(Field.bundleID, "7")
        #expect(text.integer == nil && text.date == nil)
        #expect(ReceiptAttribute.integer(Field.counter, 7).text == nil)
        #expect(ReceiptAttribute(1, value: [2, 1]).integer == nil)
        #expect(ReceiptAttribute(1, value: [2, 1, 1, 0]).integer == nil)
        #expect(ReceiptAttribute.date(Field.expires, nil).text == "")
    }

    @Test func `reading a truncated or changed receipt never traps`() throws {
        let receipt = AppReceipt(
            attributes: [.text(Field.bundleID, "com.example.birds")],
            purchases: [InAppReceipt(attributes: [.integer(InAppReceipt.Field.quantity, 1)])])
        let bytes = receipt.bytes
        for count in bytes.indices {
            #expect((try? AppReceipt(parsing: Array(bytes[..<count]))) == nil)
        }
        var readable = 0
        for place in bytes.indices {
            for bit in 0..<8 {
                var changed = bytes
                changed[place] ^= 1 << bit
                guard let read = try? AppReceipt(parsing: changed) else { continue }
                readable += 1
                let again = try AppReceipt(parsing: read.bytes)
                #expect(Set(again.attributes) == Set(read.attributes))
                #expect(again.purchases.count == read.purchases.count)
            }
        }
        #expect((1..<8 * bytes.count).contains(readable))
    }

    @Test func `a transaction receipt with quotes and backslashes is written and read back`()
        throws
    {
        var receipt = TransactionReceipt()
        receipt.productID = #"a "b" \ c"#
        receipt.expires = AppStoreDate(milliseconds: 1_768_075_200_000)
        receipt.isTrial = true
        let again = try TransactionReceipt(signedBytes: receipt.signedBytes)
        #expect(again == receipt)
        for text in ["", "{", #"{ "a" = "b" }"#, #"{ "a" "b"; }"#, #"{ "a" = "b;"#, "[]"] {
            #expect(throws: ReceiptFailure.self, "\(text)") {
                try TransactionReceipt(signedBytes: Array(text.utf8))
            }
        }
    }

    @Test func `an app receipt begins with a DER structure, but a transaction receipt does not`() {
        #expect(ReceiptText.isAppReceipt("MIISagYJKoZIhvcNAQcCoIISWzCCElcCAQEx"))
        let list = ReceiptText.text(of: Array("{\n\t\"signature\" = \"A0\";\n}".utf8))
        #expect(!ReceiptText.isAppReceipt(list))
        #expect(!ReceiptText.isAppReceipt("") && !ReceiptText.isAppReceipt("?"))
    }

    @Test func `a damaged receipt file is refused`() throws {
        let signature = TransactionReceiptSignature(
            version: 3, signature: [UInt8](repeating: 7, count: 256), certificate: [1, 2, 3])
        #expect(try TransactionReceiptSignature(parsing: signature.bytes) == signature)
        for bytes in [[], [9], Array(signature.bytes.dropLast()), signature.bytes + [0]] {
            #expect(throws: ReceiptFailure.self) { try TransactionReceiptSignature(parsing: bytes) }
        }
        let file = TransactionReceiptFile(
            signedBytes: [1], signature: signature.bytes, environment: .sandbox)
        #expect(try TransactionReceiptFile(parsing: file.bytes) == file)
    }
}

import AppStoreFormats
import AppStoreTrust
import Crypto
import Signing
import Testing

@Suite struct ReceiptForgeryTests {
    private typealias Parts = ReceiptMaker.Parts

    private func verifier() throws -> AppStoreTrust.Verifier {
        try AppStoreTrust.Verifier(roots: TrustRoots(der: [ReceiptMaker.shared.get().root.der]))
    }

    private func outcome(
        _ file: [UInt8], guid: [UInt8]? = nil
    ) async throws -> VerificationOutcome<AppReceipt> {
        try await verifier().receipt(file, for: Cast.app, guid: guid, at: Cast.now)
    }

    private func reason(
        _ change: (inout Parts) throws -> Void
    ) async throws -> Refusal.Reason? {
        let maker = try ReceiptMaker.shared.get()
        var parts = try maker.parts(ReceiptMaker.payload())
        try change(&parts)
        let outcome = try await outcome(maker.file(parts))
        #expect(outcome.verified == nil)
        return outcome.refusal?.reason
    }

    @Test(arguments: [Parts.sha1, Parts.sha256])
    func `a receipt is verified with either digest algorithm`(digest: [UInt8]) async throws {
        let maker = try ReceiptMaker.shared.get()
        var parts = try maker.parts(ReceiptMaker.payload())
        parts.digest = digest
        let verified = try await outcome(maker.file(parts)).verified
        #expect(verified?.environment == .production)
        #expect(verified?.signedAt == Moment.year2026.onWire)
    }

    @Test func `the certificates of a receipt may be in any order, and the root may be missing`()
        async throws
    {
        let maker = try ReceiptMaker.shared.get()
        var parts = try maker.parts(ReceiptMaker.payload())
        parts.certificates.reverse()
        #expect(try await outcome(maker.file(parts)).verified != nil)
        parts.certificates.removeFirst()
        #expect(try await outcome(maker.file(parts)).verified != nil)
    }

    @Test func `a receipt in a form that Apple does not write is refused`() async throws {
        #expect(try await reason { $0.signers = 2 } == .receiptUnreadable)
        #expect(try await reason { $0.signers = 0 } == .receiptUnreadable)
        #expect(try await reason { $0.version = 3 } == .receiptUnreadable)
        #expect(try await reason { $0.digest = Parts.md5 } == .receiptUnreadable)
        #expect(try await reason { $0.tail = [0] } == .receiptUnreadable)
        #expect(
            try await reason { $0.signedAttributes = ReceiptMaker.element(0xA0, []) }
                == .receiptUnreadable)
        #expect(try await reason { $0.content = [5, 0] } == .receiptUnreadable)
        #expect(
            try await reason { $0.certificates += Array(repeating: $0.certificates[2], count: 8) }
                == .receiptUnreadable)
    }

    @Test(.timeLimit(.minutes(1)))
    func `the verifier does not try every order of certificates that issue each other`()
        async throws
    {
        let maker = try ReceiptMaker.shared.get()
        let others = try maker.lookAlikes(9).map { try $0.der }
        #expect(
            try await reason { $0.certificates = [$0.certificates[0]] + others }
                == .untrustedChain)
        // The genuine certificate is among them, and the verifier finds it.
        var parts = try maker.parts(ReceiptMaker.payload())
        parts.certificates = [parts.certificates[0]] + others.dropLast() + [parts.certificates[1]]
        #expect(try await outcome(maker.file(parts)).verified != nil)
    }

    @Test(arguments: [[], [0x30], [0x30, 0x80, 0, 0], Array("no receipt".utf8)] as [[UInt8]])
    func `a file that is not a receipt is refused`(file: [UInt8]) async throws {
        #expect(try await outcome(file).refusal?.reason == .receiptUnreadable)
    }

    @Test func `a file over the size limit is refused before it is read`() async throws {
        let file = [UInt8](repeating: 0x30, count: AppStoreTrust.Verifier.receiptBytesMax + 1)
        #expect(try await outcome(file).refusal?.reason == .tooLong)
    }

    /// Some users of an app had receipts of this size.
    @Test func `a receipt of five megabytes is verified`() async throws {
        let maker = try ReceiptMaker.shared.get()
        let long = ReceiptAttribute(9_999, value: [UInt8](repeating: 0, count: 5_004_203))
        let file = try maker.file(ReceiptMaker.payload(more: [long]))
        #expect(try await outcome(file).verified?.environment == .production)
    }

    @Test func `a receipt with a DER length that is not in its shortest form is refused`()
        async throws
    {
        let file = try ReceiptMaker.shared.get().file(ReceiptMaker.payload())
        // The outer length has two bytes. A zero byte before these two would not change the
        // length's value.
        #expect(file[1] == 0x82)
        let longer = [file[0], 0x83, 0] + file[2...]
        #expect(try await outcome(longer).refusal?.reason == .receiptUnreadable)
    }

    @Test func `a receipt whose certificates do not lead to a trusted root is refused`()
        async throws
    {
        let stranger = try ReceiptMaker()
        let file = try stranger.file(ReceiptMaker.payload())
        #expect(try await outcome(file).refusal?.reason == .untrustedChain)
        #expect(try await reason { $0.certificates.remove(at: 1) } == .untrustedChain)
        #expect(try await reason { $0.certificates.removeFirst() } == .untrustedChain)
        #expect(try await reason { $0.certificates[0] = [0x30, 0] } == .certificateUnreadable)
    }

    @Test func `a receipt whose certificates lack Apple's marker extensions is refused`()
        async throws
    {
        let maker = try ReceiptMaker.shared.get()
        let plain = try maker.file(ReceiptMaker.payload(), leaf: maker.leaf(marker: nil))
        #expect(try await outcome(plain).refusal?.reason == .missingMarker)
        let other = try ReceiptMaker(intermediateMarker: nil)
        let verifier = AppStoreTrust.Verifier(roots: try TrustRoots(der: [other.root.der]))
        let outcome = await verifier.receipt(
            try other.file(ReceiptMaker.payload()), for: Cast.app, at: Cast.now)
        #expect(outcome.refusal?.reason == .missingMarker)
    }

    @Test func `a receipt's certificates must have been valid on the date of the receipt`()
        async throws
    {
        let maker = try ReceiptMaker.shared.get()
        let leaf = try maker.leaf(valid: .year2020 ..< .year2025)
        let late = try maker.file(ReceiptMaker.payload(), leaf: leaf)
        #expect(try await outcome(late).refusal?.reason == .notValidAtSigning)
        let old = try maker.file(
            ReceiptMaker.payload(created: .year2025 + -86_400), leaf: leaf)
        #expect(try await outcome(old).verified != nil)
    }

    @Test func `a receipt with changed content is refused`() async throws {
        let maker = try ReceiptMaker.shared.get()
        let file = try maker.file(ReceiptMaker.payload())
        let place = try #require(
            file.indices.first { file[$0...].starts(with: Array(Cast.bundleID.utf8)) })
        var changed = file
        changed[place] ^= 1
        #expect(try await outcome(changed).refusal?.reason == .badSignature)
    }

    @Test func `a truncated receipt is refused, and a changed one never has other content`()
        async throws
    {
        let maker = try ReceiptMaker.shared.get()
        // This value is so long that some changes fall into bytes that nothing else reads.
        let long = ReceiptAttribute(77, value: [UInt8](repeating: 7, count: 2000))
        let file = try maker.file(ReceiptMaker.payload(more: [long]))
        let genuine = try #require(try await outcome(file).verified?.payload)
        var refused = 0
        let offsets = Array(stride(from: 0, to: file.count, by: 17))
        for offset in offsets {
            var changed = file
            changed[offset] ^= 0x55
            let outcome = try await outcome(changed)
            // The root certificate in the file and the list of digests before the content are not
            // verified.
            #expect(outcome.verified.map { $0.payload == genuine } ?? true, "changed at \(offset)")
            if outcome.refusal != nil { refused += 1 }
            let short = try await self.outcome(Array(file[..<offset]))
            #expect(short.refusal != nil, "shortened to \(offset)")
        }
        #expect(refused > offsets.count / 2)
    }

    @Test
    func `a receipt is refused if its date is missing, or its app or type is missing or wrong`()
        async throws
    {
        let cases: [(AppReceipt, Refusal.Reason)] = [
            (ReceiptMaker.payload(bundle: "com.example.other"), .wrongBundle),
            (ReceiptMaker.payload(bundle: nil), .fieldMissing),
            (ReceiptMaker.payload(type: "Xcode"), .environmentNeverTrusted),
            (ReceiptMaker.payload(type: "Moon"), .environmentNeverTrusted),
            (ReceiptMaker.payload(type: nil), .fieldMissing),
            (ReceiptMaker.payload(created: nil), .fieldMissing),
        ]
        let maker = try ReceiptMaker.shared.get()
        for (receipt, expected) in cases {
            let found = try await outcome(maker.file(receipt)).refusal
            #expect(found?.reason == expected)
            #expect(found?.subject == .receipt)
        }
    }

    @Test(arguments: [
        ("ProductionVPP", StoreEnvironment.production), ("ProductionSandbox", .sandbox),
        ("ProductionVPPSandbox", .sandbox),
    ])
    func `the type of a receipt distinguishes production, volume purchases and the sandbox`(
        type: String, expected: StoreEnvironment
    ) async throws {
        let file = try ReceiptMaker.shared.get().file(ReceiptMaker.payload(type: type))
        #expect(try await outcome(file).verified?.environment == expected)
    }

    @Test func `a receipt with another Apple id of the app is refused in production only`()
        async throws
    {
        typealias Field = AppReceipt.Field
        let maker = try ReceiptMaker.shared.get()
        for (type, expected) in [
            ("Production", Refusal.Reason.wrongAppAppleID), ("ProductionSandbox", nil),
        ] {
            var receipt = ReceiptMaker.payload(type: type)
            receipt.attributes.removeAll { $0.number == Field.appAppleID.rawValue }
            receipt.attributes.append(.integer(Field.appAppleID, 7))
            #expect(try await outcome(maker.file(receipt)).refusal?.reason == expected)
        }
    }

    @Test
    func `a receipt belongs to a device if its hash is computed from the device's identifier`()
        async throws
    {
        let guid: [UInt8] = [1, 2, 3, 4, 5, 6]
        let opaque = ReceiptAttribute(
            AppReceipt.Field.opaqueValue.rawValue, version: 2, value: [9, 9])
        var receipt = ReceiptMaker.payload(more: [opaque])
        let maker = try ReceiptMaker.shared.get()
        #expect(
            try await outcome(maker.file(receipt), guid: guid).refusal?.reason == .fieldMissing)
        let hashed = try #require(receipt.hashedBytes(guid: guid))
        receipt.attributes.append(
            ReceiptAttribute(
                AppReceipt.Field.deviceHash.rawValue,
                value: Array(Insecure.SHA1.hash(data: hashed))))
        let file = try maker.file(receipt)
        #expect(try await outcome(file, guid: guid).verified != nil)
        #expect(try await outcome(file, guid: [1, 2, 3, 4, 5, 7]).refusal?.reason == .wrongDevice)
        #expect(
            try await outcome(file).verified != nil,
            "the hash is compared only if a device is given")
    }
}

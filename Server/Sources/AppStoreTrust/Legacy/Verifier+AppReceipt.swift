import AppStoreFormats
import Crypto
import X509
import _CryptoExtras

extension Verifier {
    /// Verifies an app receipt: the file that an app has on its device.
    ///
    /// The steps in order: the file is parsed; its signer's certificates must lead to a root; the
    /// signature must match; then the payload is read. The certificates must have been valid when
    /// the receipt was created. The receipt must be for the app and from an accepted environment
    /// and, if the device's identifier is given, for that device.
    ///
    /// - Parameter guid: 16 bytes (`identifierForVendor`), or 6 on a Mac (its network address).
    package func receipt(
        _ file: [UInt8], for app: AppIdentity, guid: [UInt8]? = nil, at now: AppStoreDate
    ) async -> VerificationOutcome<AppReceipt> {
        do throws(Refusal) {
            if let found = try xcodeReceipt(file, for: app, guid: guid) {
                return Self.outcome(found, at: now)
            }
            let envelope = try Self.envelope(of: file)
            let remembered = receiptChains[envelope.signer]
            let chain: ReceiptChain
            if let remembered {
                chain = remembered
            } else {
                chain = try await chains.chain(of: envelope)
            }
            try chain.requireSignature(envelope.signature, of: envelope.content, envelope.digest)
            // No signature covers the certificates: anybody with a receipt could add others to it
            // and thereby displace cached chains.
            if remembered == nil, chain.isAllThatCame {
                receiptChains.insert(chain, for: envelope.signer)
            }
            let receipt = try AppReceipt(reading: envelope.content)
            let created = try receipt.requireCreation()
            try chain.requireValid(at: created)
            let environment = try receipt.requireBinding(to: app)
            if let guid { try receipt.requireDevice(guid) }
            return Self.outcome(
                Verified(
                    payload: receipt, environment: environment, signedAt: created,
                    digest: DocumentDigest(envelope, file)),
                at: now)
        } catch {
            var refusal = error
            refusal.subject = .receipt
            return .refused(refusal)
        }
    }

    /// Parses the file of a receipt. A receipt that Xcode signed is refused with a separate error,
    /// so that the sender knows what is wrong.
    private static func envelope(of file: [UInt8]) throws(Refusal) -> ReceiptEnvelope {
        do throws(Refusal) { return try ReceiptEnvelope(parsing: file) } catch {
            guard XcodeReceipt.isXcodeReceipt(file) else { throw error }
            throw Refusal(
                .environmentNeverTrusted, expected: "Production or Sandbox",
                found: StoreEnvironment.xcode.rawValue)
        }
    }

    /// Verifies a receipt of Xcode's local StoreKit testing, if this verifier is for development
    /// and knows the certificate that signed it. Returns nil for any other file. The receipt counts
    /// as a sandbox receipt.
    private func xcodeReceipt(
        _ file: [UInt8], for app: AppIdentity, guid: [UInt8]?
    ) throws(Refusal) -> Verified<AppReceipt>? {
        guard let xcode, let found = XcodeReceipt(file), found.isFromXcode else { return nil }
        guard let certificate = xcode.certificate(equalTo: found.certificate) else {
            throw Refusal(
                .untrustedChain,
                expected: "the StoreKit test certificate that is configured (trust.extra_roots)",
                found: "another Xcode certificate", of: .receipt)
        }
        guard let key = _RSA.Signing.PublicKey(certificate.publicKey) else {
            throw Refusal(.algorithm, expected: "an RSA key", found: "a key of another kind")
        }
        let chain = ReceiptChain(key: key, certificates: [certificate])
        try chain.requireSignature(found.signature, of: found.content, .sha256)
        let receipt = try AppReceipt(reading: found.content[...])
        let created = try receipt.requireCreation()
        try chain.requireValid(at: created)
        try app.requireBundle(receipt[.bundleID]?.text)
        if let guid { try receipt.requireDevice(guid) }
        return Verified(
            payload: receipt, environment: .sandbox, signedAt: created,
            digest: DocumentDigest(found, file))
    }
}

extension AppReceipt {
    fileprivate init(reading content: ArraySlice<UInt8>) throws(Refusal) {
        do throws(ReceiptFailure) {
            try self.init(parsing: Array(content))
        } catch { throw Refusal(unreadable: error) }
    }

    fileprivate func requireCreation() throws(Refusal) -> AppStoreDate {
        guard let created = self[.created]?.date else { throw .missing("date of creation") }
        return created
    }

    fileprivate func requireBinding(to app: AppIdentity) throws(Refusal) -> StoreEnvironment {
        try app.requireBundle(self[.bundleID]?.text)
        let environment = try app.requireEnvironment(environment)
        try app.requireAppleID(self[.appAppleID]?.integer, in: environment)
        return environment
    }

    private var environment: StoreEnvironment? {
        self[.receiptType]?.text.map { text in
            switch ReceiptType(rawValue: text) {
            case .production, .volume: .production
            case .sandbox, .volumeSandbox: .sandbox
            default: StoreEnvironment(rawValue: text)
            }
        }
    }

    /// Checks that the receipt is for a device. The hash of the device is SHA-1 even if the
    /// signature uses SHA-256 (TN3138).
    fileprivate func requireDevice(_ guid: [UInt8]) throws(Refusal) {
        guard let hashed = hashedBytes(guid: guid), let hash = self[.deviceHash]?.value else {
            throw .missing("hash of a device")
        }
        guard Array(Insecure.SHA1.hash(data: hashed)) == hash else {
            throw Refusal(
                .wrongDevice, expected: "the device whose identifier was sent with it",
                found: "another device")
        }
    }
}

extension Verifier {
    /// The bundle that an app receipt claims to be for, before its signature is verified. Use it
    /// only to choose the app whose identity the receipt is then verified against.
    package static func peek(receipt file: [UInt8]) -> String? {
        guard let envelope = try? ReceiptEnvelope(parsing: file) else { return nil }
        return (try? AppReceipt(reading: envelope.content))?[.bundleID]?.text
    }

    /// The maximum number of bytes besides the content in an uploaded receipt. They are not signed,
    /// so anybody could make a large file from a small receipt. Apple's receipts have about 4,500
    /// such bytes.
    package static let unsignedReceiptBytesMax = 65_536

    /// How many bytes of an app receipt's file are not signed. Returns nil if the file is not an
    /// app receipt.
    package static func unsignedBytes(inReceipt file: [UInt8]) -> Int? {
        (try? ReceiptEnvelope(parsing: file)).map { file.count - $0.content.count }
    }
}

import AppStoreFormats
import Crypto
import X509
import _CryptoExtras

extension Verifier {
    /// An app receipt: the file that an app has on its device.
    ///
    /// In this order: the file is taken apart; its signer's certificates must lead to a root; the
    /// signature must fit; then the payload is read. The certificates must have been valid when the
    /// receipt was made, it must be for the app and from a store that is accepted, and, where the
    /// device's identifier is given, for that device.
    ///
    /// - Parameter guid: 16 bytes (`identifierForVendor`), or 6 on a Mac (its network address).
    package func receipt(
        _ file: [UInt8], for app: AppIdentity, guid: [UInt8]? = nil, at now: AppStoreDate
    ) async -> Outcome<AppReceipt> {
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
            // No signature is over the certificates: whoever has a receipt can add others to it,
            // and would push out what is remembered.
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

    /// What Xcode signs is told apart, so that whoever sends it knows what is wrong.
    private static func envelope(of file: [UInt8]) throws(Refusal) -> ReceiptEnvelope {
        do throws(Refusal) { return try ReceiptEnvelope(parsing: file) } catch {
            guard XcodeReceipt.isOne(file) else { throw error }
            throw Refusal(
                .environmentNeverTrusted, expected: "Production or Sandbox",
                found: StoreEnvironment.xcode.rawValue)
        }
    }

    /// A receipt of Xcode's own store, where this verifier is for development and knows the
    /// certificate that signed it; nil for anything else. What it shows is of the sandbox.
    private func xcodeReceipt(
        _ file: [UInt8], for app: AppIdentity, guid: [UInt8]?
    ) throws(Refusal) -> Verified<AppReceipt>? {
        guard let xcode, let found = XcodeReceipt(file), found.isOfXcode else { return nil }
        guard let certificate = xcode.certificate(equalTo: found.certificate) else {
            throw Refusal(
                .untrustedChain,
                expected: "the StoreKit test certificate that is configured (trust.extra_roots)",
                found: "another one of Xcode's", of: .receipt)
        }
        guard let key = _RSA.Signing.PublicKey(certificate.publicKey) else {
            throw Refusal(.algorithm, expected: "a key of RSA", found: "a key of another kind")
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

    /// The hash is of SHA-1 also where the signature is of SHA-256 (TN3138).
    fileprivate func requireDevice(_ guid: [UInt8]) throws(Refusal) {
        guard let hashed = hashedBytes(guid: guid), let hash = self[.deviceHash]?.value else {
            throw .missing("hash of a device")
        }
        guard Array(Insecure.SHA1.hash(data: hashed)) == hash else {
            throw Refusal(
                .wrongDevice, expected: "the one whose identifier came with it",
                found: "another device")
        }
    }
}

extension Verifier {
    /// The bundle that an app receipt claims to be for, before anybody has checked the signature.
    /// Good for choosing the app by whose identity it will be verified.
    package static func peek(receipt file: [UInt8]) -> String? {
        guard let envelope = try? ReceiptEnvelope(parsing: file) else { return nil }
        return (try? AppReceipt(reading: envelope.content))?[.bundleID]?.text
    }

    /// Bytes beside the content that a receipt's file may have where it comes from outside: nobody
    /// has signed them, so anybody could make a large file of a small receipt. Apple's have about
    /// 4,500.
    package static let unsignedReceiptBytesMax = 65_536

    /// How many bytes of an app receipt's file nobody has signed; nil for what is none.
    package static func unsignedBytes(inReceipt file: [UInt8]) -> Int? {
        (try? ReceiptEnvelope(parsing: file)).map { file.count - $0.content.count }
    }
}

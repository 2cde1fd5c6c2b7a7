import AppStoreFormats
import Crypto
import SwiftASN1

extension Verifier {
    /// An app receipt: the file that an app has on its device.
    ///
    /// In this order: the file is taken apart; its signer's certificates must lead to a root; the
    /// signature must fit; then the payload is read. The certificates must have been valid when the
    /// receipt was made, it must be for the app and from a store that is accepted, and, where the
    /// device's identifier is given, for that device.
    ///
    /// - Parameter guid: 16 bytes (`identifierForVendor`), or 6 on a Mac (its network address).
    package nonisolated(nonsending) func receipt(
        _ file: [UInt8], for app: AppIdentity, guid: [UInt8]? = nil, at now: AppStoreDate
    ) async -> Outcome<AppReceipt> {
        do throws(Refusal) {
            let envelope = try Self.envelope(of: file)
            let chain = try await chains.chain(of: envelope)
            try chain.requireSignature(envelope.signature, of: envelope.content, envelope.digest)
            let receipt = try AppReceipt(reading: envelope.content)
            let created = try receipt.requireCreation()
            try chain.requireValid(at: created)
            let environment = try receipt.requireBinding(to: app)
            if let guid { try receipt.requireDevice(guid) }
            return Self.outcome(
                Verified(
                    payload: receipt, environment: environment, signedAt: created,
                    digest: Array(SHA256.hash(data: file))),
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
}

/// A receipt of Xcode's own store, in development. It is written with lengths that are found by
/// their end, and content in pieces (BER), under a certificate that anybody can make.
enum XcodeReceipt {
    /// Bytes of a file that is looked at. Those published have up to 1748.
    private static let bytesMax = 65_536

    static func isOne(_ file: [UInt8]) -> Bool {
        payload(of: file)?[.receiptType]?.text == ReceiptType.xcode.rawValue
    }

    /// What it says; nothing in it is evidence of anything.
    static func payload(of file: [UInt8]) -> AppReceipt? {
        guard file.count <= bytesMax, let root = try? BER.parse(file),
            let signed = children(of: root).last.map(children)?.first.map(children),
            signed.count >= 3, let wrapped = children(of: signed[2]).last.map(children)?.first,
            let content = try? ASN1OctetString(berEncoded: wrapped)
        else { return nil }
        return try? AppReceipt(parsing: Array(content.bytes))
    }

    private static func children(of node: ASN1Node) -> [ASN1Node] {
        guard case .constructed(let nodes) = node.content else { return [] }
        return Array(nodes)
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
}

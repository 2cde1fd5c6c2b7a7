import AppStoreFormats
import Crypto
import Foundation
import SwiftASN1
import X509
import _CryptoExtras

/// Signs receipts with a root, an intermediate and a leaf, whose RSA keys of 2048 bits are separate
/// from the keys that sign everything else. Apple does the same: receipts are under "Apple Root
/// CA", the newer documents under "Apple Root CA - G3".
package struct ReceiptAuthority: Sendable {
    /// The certificates of leaf, intermediate and root, in DER.
    package let certificates: [[UInt8]]
    /// The certificate that signs transaction receipts. It is directly under the root, because
    /// these receipts contain no intermediate.
    package let transactionCertificate: [UInt8]
    private let key: _RSA.Signing.PrivateKey

    /// Makes a new root, which no server trusts yet. Takes some tenths of a second.
    package init() throws(SigningFailure) {
        try self.init { try (1...3).map { _ in try .init(keySize: .bits2048) } }
    }

    /// Derives the authority from a seed: the same seed gives the same root, and the same bytes for
    /// the same receipt. Takes some tenths of a second.
    init(seed: UInt64) throws(SigningFailure) {
        try self.init { try SeededKeys.receiptKeys(seed: seed) }
    }

    /// Makes the certificates for the keys of root, intermediate and leaf.
    private init(_ keys: () throws -> [_RSA.Signing.PrivateKey]) throws(SigningFailure) {
        do {
            typealias Make = ReceiptCertificates
            let keys = try keys()
            let (rootKey, middleKey, key) = (keys[0], keys[1], keys[2])
            let root = try Make.root(rootKey)
            let middle = try Make.intermediate(middleKey, under: root, signer: rootKey)
            let leaf = try Make.leaf(
                key, named: "Perennial Simulator Receipt Signing", under: middle, signer: middleKey)
            let other = try Make.leaf(
                key, named: "Perennial Simulator Transaction Receipt Signing", under: root,
                signer: rootKey, marker: Make.purchaseMarker)
            self.init(
                key: key, certificates: try [leaf, middle, root].map(Self.der),
                transactionCertificate: try Self.der(other))
        } catch {
            throw SigningFailure("The receipt certificates could not be made: \(error)")
        }
    }

    private init(
        key: _RSA.Signing.PrivateKey, certificates: [[UInt8]], transactionCertificate: [UInt8]
    ) {
        self.key = key
        self.certificates = certificates
        self.transactionCertificate = transactionCertificate
    }

    /// The certificate that a server must trust in order to accept receipts.
    package var rootDER: [UInt8] { certificates[2] }

    /// Signs an app receipt, in the file format that a device has.
    package func sign(
        _ receipt: AppReceipt, digest: ReceiptDigest
    ) throws(SigningFailure) -> [UInt8] {
        let content = receipt.bytes
        do {
            let envelope = ReceiptEnvelope(
                digest: digest, content: content, certificates: certificates,
                signature: try signature(of: content, digest))
            return try envelope.der()
        } catch { throw SigningFailure("A receipt could not be signed: \(error)") }
    }

    /// Signs a transaction receipt as an app received it before iOS 7. The digest is always SHA-1.
    package func sign(
        _ receipt: TransactionReceipt, in environment: SimulatedEnvironment
    ) throws(SigningFailure) -> [UInt8] {
        let (version, content) = (UInt8(3), receipt.signedBytes)
        do {
            let signature = TransactionReceiptSignature(
                version: version, signature: try signature(of: [version] + content, .sha1),
                certificate: transactionCertificate)
            let file = TransactionReceiptFile(
                signedBytes: content, signature: signature.bytes,
                environment: environment == .sandbox ? .sandbox : nil)
            return file.bytes
        } catch { throw SigningFailure("A receipt could not be signed: \(error)") }
    }

    /// Signs an app receipt and encodes it as Base64.
    func text(_ receipt: AppReceipt, digest: ReceiptDigest) throws(SigningFailure) -> String {
        Self.base64(try sign(receipt, digest: digest))
    }

    /// Signs a transaction receipt and encodes it as Base64.
    func text(
        _ receipt: TransactionReceipt, in environment: SimulatedEnvironment
    ) throws(SigningFailure) -> String {
        Self.base64(try sign(receipt, in: environment))
    }

    private func signature(of bytes: [UInt8], _ digest: ReceiptDigest) throws -> [UInt8] {
        let padding = _RSA.Signing.Padding.insecurePKCS1v1_5
        switch digest {
        case .sha1:
            let hash = Insecure.SHA1.hash(data: bytes)
            return Array(try key.signature(for: hash, padding: padding).rawRepresentation)
        case .sha256:
            let hash = SHA256.hash(data: bytes)
            return Array(try key.signature(for: hash, padding: padding).rawRepresentation)
        }
    }

    fileprivate static func der(_ certificate: Certificate) throws -> [UInt8] {
        var serializer = DER.Serializer()
        try serializer.serialize(certificate)
        return serializer.serializedBytes
    }
}

// MARK: - Verification

/// Why a file is not accepted as a receipt of this authority.
package enum ReceiptRefusal: Error, Hashable, Sendable {
    /// The file is not a receipt, or is one made by Xcode.
    case malformed
    /// The file was signed with another key, or was changed.
    case notAuthentic
}

extension ReceiptAuthority {
    /// Verifies a file that this authority has signed, and returns the receipt in it.
    package func receipt(in file: [UInt8]) throws(ReceiptRefusal) -> AppReceipt {
        guard let envelope = ReceiptEnvelope(parsing: file),
            let receipt = try? AppReceipt(parsing: envelope.content),
            receipt[.receiptType]?.text != ReceiptType.xcode.rawValue
        else { throw .malformed }
        guard envelope.certificates.first == certificates[0],
            isValid(envelope.signature, of: envelope.content, envelope.digest)
        else { throw .notAuthentic }
        return receipt
    }

    /// Verifies a file that this authority has signed, and returns the transaction in it with its
    /// environment.
    func transaction(
        in file: [UInt8]
    ) throws(ReceiptRefusal) -> (receipt: TransactionReceipt, environment: SimulatedEnvironment) {
        guard let file = try? TransactionReceiptFile(parsing: file),
            let signature = try? TransactionReceiptSignature(parsing: file.signature),
            let receipt = try? TransactionReceipt(signedBytes: file.signedBytes)
        else { throw .malformed }
        guard signature.certificate == transactionCertificate,
            isValid(signature.signature, of: [signature.version] + file.signedBytes, .sha1)
        else { throw .notAuthentic }
        return (receipt, file.environment == .sandbox ? .sandbox : .production)
    }

    private func isValid(
        _ signature: [UInt8], of bytes: [UInt8], _ digest: ReceiptDigest
    ) -> Bool {
        let signature = _RSA.Signing.RSASignature(rawRepresentation: signature)
        let padding = _RSA.Signing.Padding.insecurePKCS1v1_5
        return switch digest {
        case .sha1:
            key.publicKey.isValidSignature(
                signature, for: Insecure.SHA1.hash(data: bytes), padding: padding)
        case .sha256:
            key.publicKey.isValidSignature(
                signature, for: SHA256.hash(data: bytes), padding: padding)
        }
    }
}

// MARK: - Storage

extension ReceiptAuthority {
    /// Restores the authority from ``stored``.
    init(stored json: JSON) throws(SigningFailure) {
        let chain = json["certificates"]?.array?.compactMap(Self.bytes)
        guard let keyBytes = json["leaf_key"].flatMap(Self.bytes),
            let key = try? _RSA.Signing.PrivateKey(derRepresentation: keyBytes),
            let chain, chain.count == 3,
            let other = json["transaction_certificate"].flatMap(Self.bytes)
        else {
            throw SigningFailure(
                "The stored receipt authority is damaged. Remove the file to make new roots"
                    + ".")
        }
        self.init(key: key, certificates: chain, transactionCertificate: other)
    }

    /// The input of ``init(stored:)``. The input contains the signing key.
    var stored: JSON {
        [
            "leaf_key": .string(Self.base64(Array(key.derRepresentation))),
            "certificates": .array(certificates.map { .string(Self.base64($0)) }),
            "transaction_certificate": .string(Self.base64(transactionCertificate)),
        ]
    }

    private static func bytes(_ json: JSON) -> [UInt8]? {
        json.string.flatMap { Base64.standard.decode(Array($0.utf8)) }
    }

    private static func base64(_ bytes: [UInt8]) -> String {
        String(decoding: Base64.standard.encode(bytes), as: UTF8.self)
    }
}

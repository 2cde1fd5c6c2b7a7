/// A transaction receipt in the form in which apps before iOS 7 received it: an old-style text
/// property list that contains, in Base64, another such list and its signature.
package struct TransactionReceiptFile: Hashable, Sendable {
    /// The bytes of the inner list, which the signature covers.
    package var signedBytes: [UInt8]
    /// The bytes of a ``TransactionReceiptSignature``.
    package var signature: [UInt8]
    /// The environment: `Sandbox`. Absent in production.
    package var environment: StoreEnvironment?

    /// The maximum size of a file in bytes.
    package static let bytesMax = 65_536

    package init(signedBytes: [UInt8], signature: [UInt8], environment: StoreEnvironment?) {
        self.signedBytes = signedBytes
        self.signature = signature
        self.environment = environment
    }

    package init(parsing bytes: [UInt8]) throws(ReceiptFailure) {
        let list = try TextPropertyList(parsing: bytes)
        guard let signed = list["purchase-info"], let signature = list["signature"],
            let signedBytes = Base64.standard.decode(Array(signed.utf8)),
            let signatureBytes = Base64.standard.decode(Array(signature.utf8))
        else { throw ReceiptFailure("the list has no purchase-info or no signature in Base64") }
        self.signedBytes = signedBytes
        self.signature = signatureBytes
        environment = list["environment"].map { StoreEnvironment(rawValue: $0) }
    }

    package var bytes: [UInt8] {
        var list = TextPropertyList(entries: [
            ("signature", Self.base64(signature)), ("purchase-info", Self.base64(signedBytes)),
        ])
        if let environment { list.entries.append(("environment", environment.rawValue)) }
        list.entries += [("pod", "100"), ("signing-status", "0")]
        return list.bytes
    }

    private static func base64(_ bytes: [UInt8]) -> String {
        String(decoding: Base64.standard.encode(bytes), as: UTF8.self)
    }
}

extension TransactionReceipt {
    /// Parses the signed list within a receipt file. The keys of the list are those of the JSON,
    /// with dashes.
    package init(signedBytes: [UInt8]) throws(ReceiptFailure) {
        let list = try TextPropertyList(parsing: signedBytes)
        let members = list.entries.map { key, value in
            JSON.Member(key.replacing("-", with: "_"), .string(value))
        }
        guard let receipt = Self(json: .object(members)) else {
            throw ReceiptFailure("the signed list is not a transaction")
        }
        self = receipt
    }

    package var signedBytes: [UInt8] {
        let members = json.members ?? []
        return TextPropertyList(
            entries: members.map {
                ($0.key.replacing("_", with: "-"), $0.value.string ?? $0.value.text)
            }
        ).bytes
    }
}

/// The signature of a transaction receipt: a version, the RSA signature, and the signer's
/// certificate. The signature covers the version byte and the list, with SHA-1 and PKCS #1 v1.5.
package struct TransactionReceiptSignature: Hashable, Sendable {
    /// The version: 2 for a key of 1024 bits, 3 for a key of 2048 bits.
    package var version: UInt8
    package var signature: [UInt8]
    /// The signer's certificate in DER.
    package var certificate: [UInt8]

    package init(version: UInt8, signature: [UInt8], certificate: [UInt8]) {
        self.version = version
        self.signature = signature
        self.certificate = certificate
    }

    package init(parsing bytes: [UInt8]) throws(ReceiptFailure) {
        guard let version = bytes.first, version == 2 || version == 3 else {
            throw ReceiptFailure("the version of the signature is not known")
        }
        let end = 1 + (version == 2 ? 128 : 256)
        guard bytes.count > end + 4 else { throw ReceiptFailure("the signature is too short") }
        let length = bytes[end..<end + 4].reduce(0) { $0 << 8 | Int($1) }
        guard bytes.count == end + 4 + length else {
            throw ReceiptFailure("the length of the certificate is wrong")
        }
        self.version = version
        signature = Array(bytes[1..<end])
        certificate = Array(bytes[(end + 4)...])
    }

    package var bytes: [UInt8] {
        let count = certificate.count
        let length = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: count >> $0) }
        return [version] + signature + length + certificate
    }
}

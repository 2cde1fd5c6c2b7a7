import AppStoreFormats
import SwiftASN1
import X509

/// The signed file that contains a receipt: PKCS #7 SignedData (RFC 2315) with one signer and no
/// signed attributes, so the signature covers the content's bytes directly.
struct ReceiptEnvelope: Hashable, Sendable {
    var digest: ReceiptDigest
    /// The receipt's payload.
    var content: [UInt8]
    /// The certificates in DER. The signer's certificate is first.
    var certificates: [[UInt8]]
    var signature: [UInt8]

    /// Maximum number of bytes of a file. Apple's file of 187 purchases has 79,000 bytes; a file of
    /// 5,004,203 bytes was seen.
    static let bytesMax = 8_388_608
    static let certificatesMax = 10
}

/// The hash algorithm of a receipt's signature. Apple changed it in 2023.
package enum ReceiptDigest: String, Hashable, Sendable, CaseIterable {
    case sha1
    case sha256

    var identifier: ASN1ObjectIdentifier {
        switch self {
        case .sha1: [1, 3, 14, 3, 2, 26]
        case .sha256: [2, 16, 840, 1, 101, 3, 4, 2, 1]
        }
    }
}

// MARK: - Writing

extension ReceiptEnvelope {
    private static let signedData: ASN1ObjectIdentifier = [1, 2, 840, 113549, 1, 7, 2]
    private static let plainData: ASN1ObjectIdentifier = [1, 2, 840, 113549, 1, 7, 1]
    private static let rsaEncryption: ASN1ObjectIdentifier = [1, 2, 840, 113549, 1, 1, 1]
    private static let zero = ASN1Identifier(tagWithNumber: 0, tagClass: .contextSpecific)

    /// The file's bytes in DER, except that the certificates are in Apple's order.
    func der() throws -> [UInt8] {
        guard let first = certificates.first else { throw SigningFailure("No signer certificate.") }
        let signer = try Certificate(derEncoded: first)
        var serializer = DER.Serializer()
        try serializer.appendConstructedNode(identifier: .sequence) { outer in
            try outer.serialize(Self.signedData)
            try outer.appendConstructedNode(identifier: Self.zero) { tagged in
                try tagged.appendConstructedNode(identifier: .sequence) { inner in
                    try write(to: &inner, signer: signer)
                }
            }
        }
        return serializer.serializedBytes
    }

    private func write(to coder: inout DER.Serializer, signer: Certificate) throws {
        try coder.serialize(1)
        try coder.appendConstructedNode(identifier: .set) {
            try Self.writeAlgorithm(digest.identifier, to: &$0)
        }
        try coder.appendConstructedNode(identifier: .sequence) { inner in
            try inner.serialize(Self.plainData)
            try inner.appendConstructedNode(identifier: Self.zero) {
                try $0.serialize(ASN1OctetString(contentBytes: content[...]))
            }
        }
        coder.appendConstructedNode(identifier: Self.zero) { inner in
            for certificate in certificates { inner.serializeRawBytes(certificate) }
        }
        try coder.appendConstructedNode(identifier: .set) { inner in
            try inner.appendConstructedNode(identifier: .sequence) {
                try writeSigner(signer, to: &$0)
            }
        }
    }

    private func writeSigner(_ signer: Certificate, to coder: inout DER.Serializer) throws {
        try coder.serialize(1)
        try coder.appendConstructedNode(identifier: .sequence) { inner in
            try inner.serialize(signer.issuer)
            try inner.serialize(signer.serialNumber.bytes)
        }
        try Self.writeAlgorithm(digest.identifier, to: &coder)
        try Self.writeAlgorithm(Self.rsaEncryption, to: &coder)
        try coder.serialize(ASN1OctetString(contentBytes: signature[...]))
    }

    private static func writeAlgorithm(
        _ identifier: ASN1ObjectIdentifier, to coder: inout DER.Serializer
    ) throws {
        try coder.appendConstructedNode(identifier: .sequence) { inner in
            try inner.serialize(identifier)
            try inner.serialize(ASN1Null())
        }
    }
}

// MARK: - Reading

extension ReceiptEnvelope {
    /// Parses a file, whatever its signature. Xcode's files use indefinite lengths and content in
    /// pieces (BER); Apple's certificates are not in DER order. Returns nil if the file does not
    /// have this format.
    init?(parsing bytes: [UInt8]) {
        guard bytes.count <= Self.bytesMax, let root = try? BER.parse(bytes),
            let outer = Self.children(of: root), outer.count == 2,
            (try? ASN1ObjectIdentifier(berEncoded: outer[0])) == Self.signedData,
            let inner = Self.children(of: outer[1])?.first.flatMap(Self.children(of:)),
            inner.count >= 5, let last = inner.last,
            let signer = Self.children(of: last)?.first.flatMap(Self.children(of:)),
            signer.count >= 5, let digest = Self.digest(of: signer[2]),
            let wrapped = Self.children(of: inner[2]), wrapped.count == 2,
            let content = Self.children(of: wrapped[1])?.first.flatMap(Self.octets(of:)),
            let certificates = Self.children(of: inner[3]),
            (1...Self.certificatesMax).contains(certificates.count),
            let signature = Self.octets(of: signer[4])
        else { return nil }
        self.digest = digest
        self.content = content
        self.certificates = certificates.map { Array($0.encodedBytes) }
        self.signature = signature
    }

    private static func children(of node: ASN1Node) -> [ASN1Node]? {
        guard case .constructed(let nodes) = node.content else { return nil }
        return Array(nodes)
    }

    /// The bytes of an octet string. Accepts an octet string in pieces, and one that contains only
    /// another octet string.
    private static func octets(of node: ASN1Node) -> [UInt8]? {
        (try? ASN1OctetString(berEncoded: node)).map { Array($0.bytes) }
    }

    private static func digest(of algorithm: ASN1Node) -> ReceiptDigest? {
        guard let first = children(of: algorithm)?.first,
            let identifier = try? ASN1ObjectIdentifier(berEncoded: first)
        else { return nil }
        return ReceiptDigest.allCases.first { $0.identifier == identifier }
    }
}

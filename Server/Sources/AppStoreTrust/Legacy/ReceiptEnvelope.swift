import AppStoreFormats
import SwiftASN1

/// The file of an app receipt: PKCS #7 SignedData (RFC 2315), parsed but not trusted.
///
/// Parsed strictly as DER. Only Apple's form is accepted: one signer and no signed attributes, so
/// that the signature covers the content bytes themselves. Only the elements that lead to the
/// needed parts are visited, so a file of a million small elements takes no longer than any other
/// file of the same size. There is one accepted deviation: the certificates are a SET, which Apple
/// does not sort as DER requires.
struct ReceiptEnvelope: Hashable, Sendable {
    /// The maximum size of a file in bytes: see ``Verifier/receiptBytesMax``.
    static let bytesMax = Verifier.receiptBytesMax
    /// The maximum number of certificates. Apple sends three.
    static let certificatesMax = 10

    let digest: ReceiptDigest
    /// The receipt's payload.
    let content: ArraySlice<UInt8>
    /// The certificates in DER, in the order of the file.
    let certificates: [[UInt8]]
    /// The name of the signer's issuer. Like `serialNumber`, it is a whole element.
    let issuer: ArraySlice<UInt8>
    let serialNumber: ArraySlice<UInt8>
    let signature: ArraySlice<UInt8>

    /// Everything that identifies the signer: certificates, issuer, and serial number, each as a
    /// whole element.
    var signer: ArraySlice<UInt8> { certificates.reduce([], +) + issuer + serialNumber }

    private static let certificatesTag: UInt8 = 0xA0
    private static let explicitTag: UInt8 = 0xA0
    private static let signedContent: ASN1ObjectIdentifier = [1, 2, 840, 113549, 1, 7, 2]
    private static let plainContent: ASN1ObjectIdentifier = [1, 2, 840, 113549, 1, 7, 1]
    /// The version of both structures (RFC 2315 §9.1 and §9.2).
    private static let version: [UInt8] = [1]

    init(parsing file: [UInt8]) throws(Refusal) {
        guard file.count <= Self.bytesMax else {
            throw Refusal(
                .tooLong, expected: "at most \(Self.bytesMax)", found: "\(file.count) bytes",
                of: .receipt)
        }
        do throws(ReceiptFailure) {
            try self.init(reading: file[...])
        } catch { throw Refusal(unreadable: error) }
    }

    private init(reading file: ArraySlice<UInt8>) throws(ReceiptFailure) {
        var file = file
        var outer = try DERElement(DERElement.sequence, removingFrom: &file).content
        try Self.requireEnd(file)
        try Self.require(Self.signedContent, in: &outer)
        var tagged = try DERElement(Self.explicitTag, removingFrom: &outer).content
        try Self.requireEnd(outer)
        var signed = try DERElement(DERElement.sequence, removingFrom: &tagged).content
        try Self.requireEnd(tagged)
        try Self.requireVersion(in: &signed)
        _ = try DERElement(DERElement.set, removingFrom: &signed)
        content = try Self.content(in: &signed)
        certificates = try Self.certificates(in: &signed)
        var signers = try DERElement(DERElement.set, removingFrom: &signed).content
        try Self.requireEnd(signed)
        var signer = try DERElement(DERElement.sequence, removingFrom: &signers).content
        guard signers.isEmpty else { throw ReceiptFailure("there is more than one signer") }
        try Self.requireVersion(in: &signer)
        var name = try DERElement(DERElement.sequence, removingFrom: &signer).content
        issuer = try DERElement(DERElement.sequence, removingFrom: &name).encoded
        serialNumber = try DERElement(DERElement.integer, removingFrom: &name).encoded
        try Self.requireEnd(name)
        digest = try Self.digest(in: &signer)
        _ = try DERElement(DERElement.sequence, removingFrom: &signer)
        signature = try DERElement(DERElement.octets, removingFrom: &signer).content
        try Self.requireEnd(signer)
    }

    private static func content(
        in signed: inout ArraySlice<UInt8>
    ) throws(ReceiptFailure) -> ArraySlice<UInt8> {
        var inner = try DERElement(DERElement.sequence, removingFrom: &signed).content
        try require(plainContent, in: &inner)
        var wrapped = try DERElement(explicitTag, removingFrom: &inner).content
        try requireEnd(inner)
        let content = try DERElement(DERElement.octets, removingFrom: &wrapped).content
        try requireEnd(wrapped)
        return content
    }

    private static func certificates(
        in signed: inout ArraySlice<UInt8>
    ) throws(ReceiptFailure) -> [[UInt8]] {
        var rest = try DERElement(certificatesTag, removingFrom: &signed).content
        var certificates: [[UInt8]] = []
        while !rest.isEmpty {
            guard certificates.count < certificatesMax else {
                throw ReceiptFailure("there are more than \(certificatesMax) certificates")
            }
            let element = try DERElement(DERElement.sequence, removingFrom: &rest)
            certificates.append(Array(element.encoded))
        }
        return certificates
    }

    private static func digest(
        in signer: inout ArraySlice<UInt8>
    ) throws(ReceiptFailure) -> ReceiptDigest {
        var algorithm = try DERElement(DERElement.sequence, removingFrom: &signer).content
        let identifier = try DERElement(removingFrom: &algorithm).encoded
        guard let digest = ReceiptDigest.allCases.first(where: { $0.isNamed(by: identifier) })
        else { throw ReceiptFailure("the digest is neither SHA-1 nor SHA-256") }
        return digest
    }

    private static func requireVersion(
        in bytes: inout ArraySlice<UInt8>
    ) throws(ReceiptFailure) {
        let found = try DERElement(DERElement.integer, removingFrom: &bytes).content
        guard Array(found) == version else { throw ReceiptFailure("a version is not 1") }
    }

    private static func require(
        _ identifier: ASN1ObjectIdentifier, in bytes: inout ArraySlice<UInt8>
    ) throws(ReceiptFailure) {
        let found = try DERElement(removingFrom: &bytes).encoded
        guard (try? ASN1ObjectIdentifier(derEncoded: found)) == identifier else {
            throw ReceiptFailure("the content is not of type \(identifier)")
        }
    }

    private static func requireEnd(_ bytes: ArraySlice<UInt8>) throws(ReceiptFailure) {
        guard bytes.isEmpty else { throw ReceiptFailure("unexpected bytes follow an element") }
    }
}

/// The hash function of a receipt's signature. Apple changed from SHA-1 to SHA-256 in 2023
/// (TN3138).
enum ReceiptDigest: Hashable, Sendable, CaseIterable {
    case sha1
    case sha256

    func isNamed(by element: ArraySlice<UInt8>) -> Bool {
        let identifier: ASN1ObjectIdentifier =
            switch self {
            case .sha1: [1, 3, 14, 3, 2, 26]
            case .sha256: [2, 16, 840, 1, 101, 3, 4, 2, 1]
            }
        return (try? ASN1ObjectIdentifier(derEncoded: element)) == identifier
    }
}

extension Refusal {
    init(unreadable failure: ReceiptFailure) {
        self.init(
            .receiptUnreadable, expected: "a receipt as the App Store signs it",
            found: "not readable (\(failure))", of: .receipt)
    }
}

import AppStoreFormats
import Foundation
import SwiftASN1
import X509
import _CryptoExtras

/// A certificate parsed without the X509 library, which supports no RSA keys of 1024 bits. Apple
/// signed transaction receipts with such keys until 2016.
struct RSACertificate: Sendable {
    let signedBytes: ArraySlice<UInt8>
    let serialNumber: ArraySlice<UInt8>
    let issuer: ArraySlice<UInt8>
    let validUntil: AppStoreDate
    let key: _RSA.Signing.PublicKey
    let extensions: [ASN1ObjectIdentifier]
    let digest: ReceiptDigest
    let signature: ArraySlice<UInt8>

    private static let versionTag: UInt8 = 0xA0
    private static let extensionsTag: UInt8 = 0xA3
    private static let bitsTag: UInt8 = 0x03
    private static let extensionsMax = 30

    /// - Throws: ``ReceiptFailure`` if the bytes are not an RSA certificate.
    init(parsing der: [UInt8]) throws(ReceiptFailure) {
        var rest = der[...]
        var whole = try DERElement(DERElement.sequence, removingFrom: &rest).content
        let signed = try DERElement(DERElement.sequence, removingFrom: &whole)
        var algorithm = try DERElement(DERElement.sequence, removingFrom: &whole).content
        let identifier = try DERElement(removingFrom: &algorithm).encoded
        var bits = try DERElement(Self.bitsTag, removingFrom: &whole).content
        guard rest.isEmpty, whole.isEmpty, bits.popFirst() == 0 else {
            throw ReceiptFailure("the certificate is not a valid X.509 certificate")
        }
        guard let digest = Self.digest(of: identifier) else {
            throw ReceiptFailure("the certificate is not signed by RSA with SHA-1 or SHA-256")
        }
        self.digest = digest
        signature = bits
        signedBytes = signed.encoded

        var inner = signed.content
        _ = try DERElement(Self.versionTag, removingFrom: &inner)
        serialNumber = try DERElement(DERElement.integer, removingFrom: &inner).encoded
        _ = try DERElement(DERElement.sequence, removingFrom: &inner)
        issuer = try DERElement(DERElement.sequence, removingFrom: &inner).encoded
        var times = try DERElement(DERElement.sequence, removingFrom: &inner).content
        _ = try Self.moment(in: &times)
        validUntil = try Self.moment(in: &times)
        _ = try DERElement(DERElement.sequence, removingFrom: &inner)
        let key = try DERElement(DERElement.sequence, removingFrom: &inner).encoded
        guard let key = try? _RSA.Signing.PublicKey(unsafeDERRepresentation: Array(key)) else {
            throw ReceiptFailure("the certificate has no key of RSA with 1024 bits or more")
        }
        self.key = key
        extensions = try Self.extensions(in: &inner)
    }

    /// Whether a certificate in DER has this issuer and serial number. Returns false if the bytes
    /// are no certificate.
    static func matches(
        _ der: [UInt8], _ issuer: ArraySlice<UInt8>, _ serialNumber: ArraySlice<UInt8>
    ) -> Bool {
        guard let certificate = try? RSACertificate(parsing: der) else { return false }
        return certificate.issuer.isSame(as: issuer)
            && certificate.serialNumber.isSame(as: serialNumber)
    }

    private static func extensions(
        in bytes: inout ArraySlice<UInt8>
    ) throws(ReceiptFailure) -> [ASN1ObjectIdentifier] {
        var tagged = try DERElement(extensionsTag, removingFrom: &bytes).content
        var rest = try DERElement(DERElement.sequence, removingFrom: &tagged).content
        var found: [ASN1ObjectIdentifier] = []
        while !rest.isEmpty {
            guard found.count < extensionsMax else {
                throw ReceiptFailure("the certificate has more than \(extensionsMax) extensions")
            }
            var one = try DERElement(DERElement.sequence, removingFrom: &rest).content
            let identifier = try DERElement(removingFrom: &one).encoded
            guard let identifier = try? ASN1ObjectIdentifier(derEncoded: identifier) else {
                throw ReceiptFailure("the certificate has an extension without a valid identifier")
            }
            found.append(identifier)
        }
        return found
    }

    private static func digest(of element: ArraySlice<UInt8>) -> ReceiptDigest? {
        switch try? ASN1ObjectIdentifier(derEncoded: element) {
        case .some([1, 2, 840, 113549, 1, 1, 5]): .sha1
        case .some([1, 2, 840, 113549, 1, 1, 11]): .sha256
        default: nil
        }
    }

    private static func moment(
        in bytes: inout ArraySlice<UInt8>
    ) throws(ReceiptFailure) -> AppStoreDate {
        let element = try DERElement(removingFrom: &bytes)
        let text = String(decoding: element.content, as: UTF8.self)
        // UTCTime has two digits for the year; 50 to 99 mean 1950 to 1999 (RFC 5280, 4.1.2.5.1).
        let digits = text.count == 13 ? (text < "50" ? "20" : "19") + text : text
        guard let date = moment(ofDigits: digits) else {
            throw ReceiptFailure("the certificate has a time that cannot be read")
        }
        return date
    }

    /// Parses a time such as `20160615120000Z`. The parser uses no format pattern, because that
    /// would take a hundred times as long, and a receipt has three certificates.
    private static func moment(ofDigits text: String) -> AppStoreDate? {
        var parts: [Substring] = []
        var rest = text[...]
        for length in [4, 2, 2, 2, 2, 2] {
            parts.append(rest.prefix(length))
            rest = rest.dropFirst(length)
        }
        guard rest == "Z" else { return nil }
        let (day, time) = (parts[..<3], parts[3...])
        return ReceiptDate.moment(
            "\(day.joined(separator: "-"))T\(time.joined(separator: ":"))Z")
    }
}

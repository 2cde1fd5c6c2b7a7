import AppStoreFormats
import Crypto
import X509

/// The only trusted root certificates: none come from the system or from a document.
package struct TrustRoots: Hashable, Sendable {
    let certificates: [Certificate]
    /// SHA-256 of each certificate in DER, as lower-case hexadecimal text.
    package let fingerprints: [String]

    /// Apple's public roots. Root CA – G3 signs current documents and notifications, the two older
    /// ones sign receipts.
    package static let apple = TrustRoots(embedded: AppleRoots.all)

    /// Custom roots, such as the App Store simulator's. Throws if a certificate cannot be read.
    package init(der: [[UInt8]]) throws(Refusal) {
        var certificates: [Certificate] = []
        for bytes in der { certificates.append(try Certificate(reading: bytes)) }
        self.certificates = certificates
        fingerprints = der.map(Self.fingerprint)
    }

    /// Returns the union of these roots and the given ones.
    package func adding(_ other: TrustRoots) -> TrustRoots {
        TrustRoots(
            certificates: certificates + other.certificates,
            fingerprints: fingerprints + other.fingerprints)
    }

    /// The certificate with exactly these DER bytes. Returns nil if there is none.
    func certificate(equalTo der: ArraySlice<UInt8>) -> Certificate? {
        let fingerprint = Self.fingerprint(Array(der))
        return zip(fingerprints, certificates).first { $0.0 == fingerprint }?.1
    }

    private init(certificates: [Certificate], fingerprints: [String]) {
        self.certificates = certificates
        self.fingerprints = fingerprints
    }

    private init(embedded: [AppleRoots]) {
        do throws(Refusal) {
            try self.init(der: embedded.map(\.der))
        } catch {
            preconditionFailure("an embedded root certificate is damaged: \(error)")
        }
        precondition(
            fingerprints == embedded.map(\.fingerprint),
            "an embedded root certificate does not match its fingerprint")
    }

    static func fingerprint(_ der: [UInt8]) -> String {
        SHA256.hash(data: der).map { byte in
            (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }.joined()
    }
}

extension Certificate {
    /// The maximum size of one certificate in DER. Apple's largest has 1430 bytes.
    static let bytesMax = 4096

    init(reading der: [UInt8]) throws(Refusal) {
        guard der.count <= Self.bytesMax else {
            throw Refusal(
                .certificateUnreadable, expected: "at most \(Self.bytesMax)",
                found: "a certificate of \(der.count) bytes")
        }
        do {
            self = try Certificate(derEncoded: der)
        } catch {
            // The library's error text is left out, because it differs on each call.
            throw Refusal(
                .certificateUnreadable, expected: "X.509 certificates in DER",
                found: "a certificate that cannot be read")
        }
    }
}

import Crypto
import Foundation
import NIOSSL
import SwiftASN1
import X509

@testable import HTTPServer

/// An authority that issues certificates of hosts, made for one test.
struct HostAuthority {
    /// A certificate with its chain, and its private key, in PEM.
    struct Pair {
        var chain: String
        var key: String

        var certificate: ServerCertificate {
            get throws {
                try ServerCertificate(certificates: Array(chain.utf8), key: Array(key.utf8))
            }
        }
    }

    private static let day: TimeInterval = 86_400

    let root: Certificate
    private let key = Certificate.PrivateKey(P256.Signing.PrivateKey())

    init() throws {
        root = try Self.certificate(
            of: "Test root", key.publicKey, by: "Test root", key, days: -1...30
        ) {
            Critical(BasicConstraints.isCertificateAuthority(maxPathLength: nil))
        }
    }

    /// A certificate for localhost and 127.0.0.1, with the certificate of its issuer.
    /// - Parameter days: the days, counted from now, on which the certificate is valid.
    func pair(days: ClosedRange<Double> = -1...7) throws -> Pair {
        let own = P256.Signing.PrivateKey()
        let leaf = try Self.certificate(
            of: "localhost", Certificate.PublicKey(own.publicKey), by: "Test root", key, days: days
        ) {
            Critical(BasicConstraints.notCertificateAuthority)
            SubjectAlternativeNames([
                .dnsName("localhost"),
                .ipAddress(ASN1OctetString(contentBytes: [127, 0, 0, 1])),
            ])
        }
        let chain = try [leaf, root].map { try $0.serializeAsPEM().pemString }
        return Pair(chain: chain.joined(separator: "\n"), key: own.pemRepresentation)
    }

    /// The certificate of the root, in PEM.
    var rootPEM: String { get throws { try root.serializeAsPEM().pemString } }

    /// The root as a client trusts it.
    var trusted: NIOSSLTrustRoots {
        get throws {
            .certificates([
                try NIOSSLCertificate(
                    bytes: Array(try root.serializeAsPEM().pemString.utf8), format: .pem)
            ])
        }
    }

    private static func certificate(
        of subject: String, _ publicKey: Certificate.PublicKey, by issuer: String,
        _ key: Certificate.PrivateKey, days: ClosedRange<Double>,
        @ExtensionsBuilder _ extensions: () throws -> Result<Certificate.Extensions, any Error>
    ) throws -> Certificate {
        try Certificate(
            version: .v3, serialNumber: Certificate.SerialNumber(), publicKey: publicKey,
            notValidBefore: Date() + days.lowerBound * day,
            notValidAfter: Date() + days.upperBound * day,
            issuer: try DistinguishedName { CommonName(issuer) },
            subject: try DistinguishedName { CommonName(subject) },
            signatureAlgorithm: .ecdsaWithSHA256,
            extensions: try Certificate.Extensions(builder: extensions), issuerPrivateKey: key)
    }
}

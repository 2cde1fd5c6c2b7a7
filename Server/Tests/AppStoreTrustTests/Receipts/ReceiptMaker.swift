import AppStoreFormats
import Crypto
import Foundation
import Signing
import SwiftASN1
import X509
import _CryptoExtras

@testable import AppStoreTrust

/// Makes receipts as Apple does, under our own root, and some that Apple would not make.
struct ReceiptMaker: Sendable {
    typealias Key = _RSA.Signing.PrivateKey

    static let shared = Result { try ReceiptMaker() }

    let root: Certificate
    let intermediate: Certificate
    let rootKey: Key
    let middleKey: Key
    let leafKey: Key

    init(
        intermediateMarker: ASN1ObjectIdentifier? = Authority.intermediateMarker
    ) throws {
        rootKey = try Key(keySize: .bits2048)
        middleKey = try Key(keySize: .bits2048)
        leafKey = try Key(keySize: .bits2048)
        let authority = BasicConstraints.isCertificateAuthority(maxPathLength: nil)
        root = try Self.certificate(
            "Receipt Root", rootKey.publicKey, by: "Receipt Root", rootKey, authority, nil)
        intermediate = try Self.certificate(
            "Receipt Relations", middleKey.publicKey, by: "Receipt Root", rootKey, authority,
            intermediateMarker)
    }

    func leaf(
        marker: ASN1ObjectIdentifier? = Authority.leafMarker,
        valid: Range<Moment> = .year2025 ..< .year2027
    ) throws -> Certificate {
        try Self.certificate(
            "Receipt Signing", leafKey.publicKey, by: "Receipt Relations", middleKey,
            .notCertificateAuthority, marker, valid)
    }

    /// Certificates with the same name and key, each of which issues all the others.
    func lookAlikes(_ count: Int) throws -> [Certificate] {
        try (0..<count).map { number in
            try Self.certificate(
                "Receipt Relations", middleKey.publicKey, by: "Receipt Relations", middleKey,
                .isCertificateAuthority(maxPathLength: nil), Authority.intermediateMarker,
                alternative: "\(number).example.com")
        }
    }

    private static func certificate(
        _ name: String, _ key: _RSA.Signing.PublicKey, by issuer: String, _ issuerKey: Key,
        _ constraints: BasicConstraints, _ marker: ASN1ObjectIdentifier?,
        _ valid: Range<Moment> = .year2020 ..< .year2040, alternative: String? = nil
    ) throws -> Certificate {
        let isAuthority = constraints != .notCertificateAuthority
        var extensions = Certificate.Extensions()
        try extensions.append(Certificate.Extension(constraints, critical: true))
        let usage = KeyUsage(digitalSignature: !isAuthority, keyCertSign: isAuthority)
        try extensions.append(Certificate.Extension(usage, critical: true))
        if let alternative {
            try extensions.append(
                Certificate.Extension(
                    SubjectAlternativeNames([.dnsName(alternative)]), critical: false))
        }
        if let marker {
            try extensions.append(
                Certificate.Extension(oid: marker, critical: false, value: [5, 0]))
        }
        return try Certificate(
            version: .v3, serialNumber: Certificate.SerialNumber(),
            publicKey: Certificate.PublicKey(key), notValidBefore: valid.lowerBound.date,
            notValidAfter: valid.upperBound.date,
            issuer: try DistinguishedName { CommonName(issuer) },
            subject: try DistinguishedName { CommonName(name) },
            signatureAlgorithm: .sha256WithRSAEncryption, extensions: extensions,
            issuerPrivateKey: Certificate.PrivateKey(issuerKey))
    }

    /// A receipt of the app that all tests use.
    static func payload(
        bundle: String? = Cast.bundleID, type: String? = "Production", created: Moment? = .year2026,
        more: [ReceiptAttribute] = []
    ) -> AppReceipt {
        typealias Field = AppReceipt.Field
        var attributes = [ReceiptAttribute.integer(Field.appAppleID, Cast.appAppleID)]
        if let bundle { attributes.append(.text(Field.bundleID, bundle)) }
        if let type { attributes.append(.text(Field.receiptType, type)) }
        if let created { attributes.append(.date(Field.created, created.onWire)) }
        return AppReceipt(attributes: attributes + more)
    }

    /// The parts of a receipt file; each part can differ from Apple's.
    struct Parts {
        var content: [UInt8]
        var certificates: [[UInt8]]
        var issuer: Certificate
        var signers = 1
        var signedAttributes: [UInt8] = []
        var digest: [UInt8] = Parts.sha256
        var version: UInt8 = 1
        var tail: [UInt8] = []

        static let sha256: [UInt8] = [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01]
        static let sha1: [UInt8] = [0x2B, 0x0E, 0x03, 0x02, 0x1A]
        static let md5: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x02, 0x05]
    }

    func parts(_ receipt: AppReceipt, leaf: Certificate? = nil) throws -> Parts {
        let leaf = try leaf ?? self.leaf()
        return Parts(
            content: receipt.bytes,
            certificates: try [leaf, intermediate, root].map { try $0.der }, issuer: leaf)
    }

    func file(_ receipt: AppReceipt, leaf: Certificate? = nil) throws -> [UInt8] {
        try file(parts(receipt, leaf: leaf))
    }

    func file(_ parts: Parts) throws -> [UInt8] {
        let octets = Self.element(0x04, parts.content)
        let inner = Self.element(0x30, Self.pkcs7(1) + Self.element(0xA0, octets))
        let name = try RSACertificate(parsing: parts.issuer.der)
        let issuer = Self.element(0x30, Array(name.issuer) + Array(name.serialNumber))
        let signer = Self.element(
            0x30,
            [0x02, 1, parts.version] + issuer
                + Self.algorithm(parts.digest) + parts.signedAttributes
                + Self.algorithm([0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01])
                + Self.element(0x04, try signature(of: parts)))
        let signers = (0..<parts.signers).flatMap { _ in signer }
        let signed = Self.element(
            0x30,
            [0x02, 1, 1] + Self.element(0x31, Self.algorithm(parts.digest)) + inner
                + Self.element(0xA0, parts.certificates.flatMap { $0 })
                + Self.element(0x31, signers))
        return Self.element(0x30, Self.pkcs7(2) + Self.element(0xA0, signed)) + parts.tail
    }

    private func signature(of parts: Parts) throws -> [UInt8] {
        let padding = _RSA.Signing.Padding.insecurePKCS1v1_5
        if parts.digest == Parts.sha1 {
            let hash = Insecure.SHA1.hash(data: parts.content)
            return Array(try leafKey.signature(for: hash, padding: padding).rawRepresentation)
        }
        let hash = SHA256.hash(data: parts.content)
        return Array(try leafKey.signature(for: hash, padding: padding).rawRepresentation)
    }

    static func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        let count = content.count
        if count < 0x80 { return [tag, UInt8(count)] + content }
        if count < 0x100 { return [tag, 0x81, UInt8(count)] + content }
        if count < 0x1_0000 { return [tag, 0x82, UInt8(count >> 8), UInt8(count & 255)] + content }
        let bytes = [16, 8, 0].map { UInt8(truncatingIfNeeded: count >> $0) }
        return [tag, 0x83] + bytes + content
    }

    private static func algorithm(_ identifier: [UInt8]) -> [UInt8] {
        element(0x30, element(0x06, identifier) + [5, 0])
    }

    private static func pkcs7(_ number: UInt8) -> [UInt8] {
        element(0x06, [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x07, number])
    }
}

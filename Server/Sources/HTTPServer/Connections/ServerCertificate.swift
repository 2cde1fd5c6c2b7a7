import Foundation
import Ledger
import NIOCore
import NIOSSL
import SwiftASN1
import X509

/// A certificate with its chain and private key, checked so that clients can connect with it.
package struct ServerCertificate: Sendable {
    /// The maximum size of a file with certificates or a key, in bytes.
    package static let fileBytesMax = 65_536
    /// The maximum number of certificates in a file. Public chains have two to four.
    package static let chainMax = 10

    /// The host names and addresses for which the certificate is valid.
    package let names: [String]
    /// The moment from which the certificate is valid.
    package let start: Instant
    /// The moment after which the certificate is no longer valid.
    package let end: Instant
    /// Whether the file lacks the certificate of the authority that issued the server's
    /// certificate.
    package let lacksIssuer: Bool
    /// Whether connections with this certificate offer HTTP/2.
    let offersHTTP2: Bool
    let context: NIOSSLContext
    private let chainBytes: [[UInt8]]

    /// Checks the contents of both files.
    ///
    /// - Parameters:
    ///   - certificates: PEM; the server's certificate first, then those of its issuers.
    ///   - key: PEM; the private key of the first certificate, without a password.
    ///   - offersHTTP2: whether connections offer HTTP/2 beside HTTP/1.1.
    /// - Throws: ``Problem`` if no client could connect with them.
    package init(
        certificates: [UInt8], key: [UInt8], offersHTTP2: Bool = true
    ) throws(Problem) {
        let chain = try Self.chain(certificates)
        let privateKey = try Self.privateKey(key)
        try Self.requireOrder(chain, for: privateKey)
        let leaf = chain[0]
        names = leaf.names
        start = Instant(leaf.notValidBefore)
        end = Instant(leaf.notValidAfter)
        lacksIssuer = chain.count == 1 && leaf.issuer != leaf.subject
        self.offersHTTP2 = offersHTTP2
        do {
            chainBytes = try chain.map { certificate in
                var serializer = DER.Serializer()
                try serializer.serialize(certificate)
                return serializer.serializedBytes
            }
            context = try Self.context(
                chainBytes, key, protocols: SecureChannel.protocols(offersHTTP2: offersHTTP2))
        } catch {
            throw Problem(
                .certificate, "cannot be used: \(error).",
                "Have it issued again with an RSA key of 2048 bits or an EC key on P-256.")
        }
    }

    private static func context(
        _ chain: [[UInt8]], _ key: [UInt8], protocols: [String]
    ) throws -> NIOSSLContext {
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: try chain.map {
                .certificate(try NIOSSLCertificate(bytes: $0, format: .der))
            },
            privateKey: .privateKey(try NIOSSLPrivateKey(bytes: key, format: .pem)))
        configuration.minimumTLSVersion = .tlsv12
        configuration.applicationProtocols = protocols
        return try NIOSSLContext(configuration: configuration)
    }

    /// Why clients would refuse the certificate at a moment. Nil if the certificate is valid then.
    package func problem(at now: Instant) -> Problem? {
        if now > end {
            return Problem(
                .certificate, "expired at \(end.minute).",
                "Renew it; the server then serves the new one without a restart.")
        }
        guard now < start else { return nil }
        return Problem(
            .certificate, "is valid only from \(start.minute).",
            "Compare this machine's clock with `timedatectl`, or wait.")
    }
}

extension ServerCertificate: Hashable {
    package static func == (one: Self, other: Self) -> Bool {
        one.chainBytes == other.chainBytes && one.offersHTTP2 == other.offersHTTP2
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(chainBytes)
        hasher.combine(offersHTTP2)
    }
}

extension ServerCertificate {
    /// What is wrong with one of the files, and what to do.
    package struct Problem: Error, Hashable {
        package enum File: Hashable, Sendable { case certificate, key }

        package var file: File
        /// The rest of a sentence whose subject is the file.
        package var message: String
        package var remedy: String

        init(_ file: File, _ message: String, _ remedy: String) {
            (self.file, self.message, self.remedy) = (file, message, remedy)
        }
    }

    // MARK: - Files

    private static func text(_ bytes: [UInt8], of file: Problem.File) throws(Problem) -> String {
        guard bytes.count <= fileBytesMax else {
            throw Problem(
                file, "has more than \(fileBytesMax) bytes.",
                "Name a file with nothing but this server's \(file == .key ? "key" : "chain").")
        }
        if let text = String(bytes: bytes, encoding: .utf8), text.contains("-----BEGIN ") {
            return text
        }
        let command = file == .key ? "pkey" : "x509"
        throw Problem(
            file, "is not in PEM format.",
            "Convert it: openssl \(command) -inform der -in FILE -out FILE.pem")
    }

    private static func chain(_ bytes: [UInt8]) throws(Problem) -> [Certificate] {
        let text = try text(bytes, of: .certificate)
        guard text.contains("-----BEGIN CERTIFICATE-----") else {
            let isKey = text.contains("PRIVATE KEY-----")
            throw Problem(
                .certificate, "contains \(isKey ? "a private key and " : "")no certificate.",
                isKey
                    ? "Exchange certificate_file and private_key_file."
                    : "Name the file with the certificate and its chain.")
        }
        let chain: [Certificate]
        do {
            chain = try PEMDocument.parseMultiple(pemString: text)
                .filter { $0.discriminator == Certificate.defaultPEMDiscriminator }
                .map { try Certificate(pemDocument: $0) }
        } catch {
            throw Problem(
                .certificate, "contains a certificate that cannot be read: \(error).",
                "Copy the file again from where it was issued.")
        }
        guard (1...chainMax).contains(chain.count) else {
            throw Problem(
                .certificate, "contains \(chain.count) certificates.",
                "Leave only the server's own and its issuers': at most \(chainMax).")
        }
        return chain
    }

    private static func privateKey(_ bytes: [UInt8]) throws(Problem) -> Certificate.PrivateKey {
        let text = try text(bytes, of: .key)
        guard !text.contains("ENCRYPTED") else {
            throw Problem(
                .key, "is protected by a password.",
                "Write it without a password, readable only by the server's user: "
                    + "(umask 077; openssl pkey -in FILE -out FILE.plain.pem)")
        }
        do {
            let keys = try PEMDocument.parseMultiple(pemString: text)
                .filter { $0.discriminator.hasSuffix("PRIVATE KEY") }
            guard let key = keys.first else {
                throw Problem(
                    .key, "contains no private key.", "Name the file with the private key.")
            }
            return try Certificate.PrivateKey(pemDocument: key)
        } catch let problem as Problem {
            throw problem
        } catch {
            throw Problem(
                .key, "contains a private key that cannot be used: \(error).",
                "Use an RSA key of at least 2048 bits, or an EC key on P-256 or P-384.")
        }
    }

    // MARK: - Chain

    private static func requireOrder(
        _ chain: [Certificate], for key: Certificate.PrivateKey
    ) throws(Problem) {
        guard chain[0].publicKey == key.publicKey else {
            let position = chain.firstIndex { $0.publicKey == key.publicKey }
            throw position.map { wrongOrder(at: $0) }
                ?? Problem(
                    .key, "is not the key of the certificate.",
                    "Name the key with which this certificate was requested.")
        }
        for (index, pair) in zip(chain, chain.dropFirst()).enumerated() {
            let (issued, issuer) = pair
            guard issued.issuer == issuer.subject,
                issuer.publicKey.isValidSignature(issued.signature, for: issued)
            else { throw wrongOrder(at: index + 1) }
        }
    }

    /// The problem that certificates are in the wrong order.
    ///
    /// - Parameter index: the first certificate that is not in its place, counted from 0.
    private static func wrongOrder(at index: Int) -> Problem {
        Problem(
            .certificate,
            "has its certificates in the wrong order, or one is missing: number "
                + "\(index + 1) did not issue number \(max(index, 1)).",
            "Write the server's own certificate first, and after each one its issuer's.")
    }
}

extension Certificate {
    /// The host names and addresses for which the certificate is valid.
    fileprivate var names: [String] {
        let alternatives = (try? extensions.subjectAlternativeNames) ?? nil
        return (alternatives ?? SubjectAlternativeNames()).compactMap { name in
            switch name {
            case .dnsName(let host): host
            case .ipAddress(let octets):
                CanonicalAddress(packed: Array(octets.bytes))?.description
            default: nil
            }
        }
    }
}

extension CanonicalAddress {
    /// An address of 4 or 16 bytes, in network order. Returns nil for any other number of bytes.
    fileprivate init?(packed bytes: [UInt8]) {
        guard let address = try? SocketAddress(packedIPAddress: ByteBuffer(bytes: bytes), port: 0)
        else { return nil }
        self.init(address)
    }
}

extension Instant {
    fileprivate init(_ date: Date) {
        self.init(milliseconds: Int64((date.timeIntervalSince1970 * 1000).rounded()))
    }
}

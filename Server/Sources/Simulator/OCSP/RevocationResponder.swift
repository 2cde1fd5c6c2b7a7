import AppStoreFormats
import Crypto
import Foundation
import SwiftASN1
import X509

/// Reports the revocation status of the whole chain, at the URL that the certificates name.
///
/// Verifiers that check online request the status of the intermediate and of the leaf. Such
/// verifiers expect each response to be signed on behalf of the certificate's issuer.
package struct RevocationResponder: Sendable {
    /// The certificates whose status can be requested.
    package enum Subject: String, Hashable, Sendable, CaseIterable {
        case leaf
        case intermediate
    }

    private struct Entry: Sendable {
        let responder: OCSPResponder
        let subject: Subject
        let serialNumber: [UInt8]
    }

    let url: String
    private let entries: [Entry]

    /// Makes responders for the root and for the intermediate from `keys`. The certificates of the
    /// responders are signed with the keys of these two issuers.
    init(
        url: String, chain: [Certificate], keys: [P256.Signing.PrivateKey],
        root: P384.Signing.PrivateKey, intermediate: P384.Signing.PrivateKey
    ) throws {
        let certificates = [
            try Certificates.responder(keys[0], under: chain[2], signer: root),
            try Certificates.responder(keys[1], under: chain[1], signer: intermediate),
        ]
        self.init(
            url: url, chain: chain, keys: keys,
            certificates: try certificates.map { try $0.derBytes })
    }

    /// Makes two responders, first for the root, then for the intermediate. Keys and certificates
    /// are in this order.
    private init(
        url: String, chain: [Certificate], keys: [P256.Signing.PrivateKey],
        certificates: [[UInt8]]
    ) {
        self.url = url
        let subjects: [Subject] = [.intermediate, .leaf]
        entries = subjects.indices.map { index in
            // The chain is leaf, intermediate, root: an issuer comes after the certificate that it
            // signed.
            let (issuer, issued) = (chain[2 - index], chain[1 - index])
            return Entry(
                responder: OCSPResponder(
                    key: keys[index], certificate: certificates[index],
                    issuer: issuer.publicKey),
                subject: subjects[index], serialNumber: Array(issued.serialNumber.bytes))
        }
    }

    /// The response to a request, in DER. A request that cannot be parsed gets a response, too.
    /// `now` is the machine's time, because verifiers compare it with theirs.
    func response(to request: [UInt8], at now: Date, revoked: Set<Subject>) throws -> [UInt8] {
        guard let request = try? OCSPRequest(derEncoded: request) else {
            return OCSPResponder.malformedRequest
        }
        let counter = entries.first { counter in
            request.questions.allSatisfy(counter.responder.covers)
        }
        guard let counter else { return OCSPResponder.unauthorized }
        return try counter.responder.response(to: request, at: now) { question in
            guard question.serialNumber == counter.serialNumber else { return .unknown }
            guard revoked.contains(counter.subject) else { return .good }
            return .revoked(at: now.addingTimeInterval(-OCSPResponder.validSeconds))
        }
    }

    // MARK: - Restarts

    /// The input of ``init(stored:chain:)``.
    var stored: JSON {
        let responders = entries.map { counter -> JSON in
            let key = [UInt8](counter.responder.key.rawRepresentation)
            return [
                "key": .string(String(decoding: Base64.standard.encode(key), as: UTF8.self)),
                "certificate": .string(
                    String(
                        decoding: Base64.standard.encode(counter.responder.certificate),
                        as: UTF8.self)),
            ]
        }
        return ["url": .string(url), "responders": .array(responders)]
    }

    /// Restores the responders from ``stored``. Returns nil if the stored data is damaged.
    init?(stored: JSON, chain: [[UInt8]]) {
        let responders = stored["responders"]?.array ?? []
        let keys = responders.compactMap { responder in
            Self.bytes(responder["key"]).flatMap {
                try? P256.Signing.PrivateKey(rawRepresentation: $0)
            }
        }
        let certificates = responders.compactMap { Self.bytes($0["certificate"]) }
        let chain = chain.compactMap { try? Certificate(derEncoded: $0) }
        guard let url = stored["url"]?.string, keys.count == 2, certificates.count == 2,
            chain.count == 3
        else { return nil }
        self.init(url: url, chain: chain, keys: keys, certificates: certificates)
    }

    private static func bytes(_ value: JSON?) -> [UInt8]? {
        value?.string.flatMap { Base64.standard.decode(Array($0.utf8)) }
    }
}

extension Certificate {
    /// The certificate in DER.
    var derBytes: [UInt8] {
        get throws {
            var serializer = DER.Serializer()
            try serializer.serialize(self)
            return serializer.serializedBytes
        }
    }
}

import AppStoreFormats
import Crypto
import Foundation
import SwiftASN1
import X509

/// Answers for the whole chain whether its certificates still hold, at the URL that they name.
///
/// Verifiers that check online ask for the intermediate and for the leaf, and want an answer signed
/// on behalf of the issuer of each.
package struct RevocationDesk: Sendable {
    /// The certificates that can be asked about.
    package enum Subject: String, Hashable, Sendable, CaseIterable {
        case leaf
        case intermediate
    }

    private struct Counter: Sendable {
        let responder: OCSPResponder
        let subject: Subject
        let serialNumber: [UInt8]
    }

    let url: String
    private let counters: [Counter]

    /// A desk with the keys of its responders, for the root and for the intermediate, signed by
    /// these two issuers' keys.
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

    /// The counters of the root and of the intermediate, in this order.
    private init(
        url: String, chain: [Certificate], keys: [P256.Signing.PrivateKey],
        certificates: [[UInt8]]
    ) {
        self.url = url
        let subjects: [Subject] = [.intermediate, .leaf]
        counters = subjects.indices.map { index in
            // Leaf, intermediate, root: who issues the intermediate stands last.
            let (issuer, issued) = (chain[2 - index], chain[1 - index])
            return Counter(
                responder: OCSPResponder(
                    key: keys[index], certificate: certificates[index],
                    issuer: issuer.publicKey),
                subject: subjects[index], serialNumber: Array(issued.serialNumber.bytes))
        }
    }

    /// The answer to a request in DER, which is always an answer. `now` is the machine's: verifiers
    /// compare with theirs.
    func response(to request: [UInt8], at now: Date, revoked: Set<Subject>) throws -> [UInt8] {
        guard let request = try? OCSPRequest(derEncoded: request) else {
            return OCSPResponder.malformedRequest
        }
        let counter = counters.first { counter in
            request.questions.allSatisfy(counter.responder.answers)
        }
        guard let counter else { return OCSPResponder.unauthorized }
        return try counter.responder.response(to: request, at: now) { question in
            guard question.serialNumber == counter.serialNumber else { return .unknown }
            guard revoked.contains(counter.subject) else { return .good }
            return .revoked(at: now.addingTimeInterval(-OCSPResponder.validSeconds))
        }
    }

    // MARK: - Over restarts

    /// What ``init(stored:chain:)`` reads.
    var stored: JSON {
        let desks = counters.map { counter -> JSON in
            let key = [UInt8](counter.responder.key.rawRepresentation)
            return [
                "key": .string(String(decoding: Base64.standard.encode(key), as: UTF8.self)),
                "certificate": .string(
                    String(
                        decoding: Base64.standard.encode(counter.responder.certificate),
                        as: UTF8.self)),
            ]
        }
        return ["url": .string(url), "responders": .array(desks)]
    }

    /// Nil where what is stored is damaged.
    init?(stored: JSON, chain: [[UInt8]]) {
        let desks = stored["responders"]?.array ?? []
        let keys = desks.compactMap { desk in
            Self.bytes(desk["key"]).flatMap {
                try? P256.Signing.PrivateKey(rawRepresentation: $0)
            }
        }
        let certificates = desks.compactMap { Self.bytes($0["certificate"]) }
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
    /// In DER.
    var derBytes: [UInt8] {
        get throws {
            var serializer = DER.Serializer()
            try serializer.serialize(self)
            return serializer.serializedBytes
        }
    }
}

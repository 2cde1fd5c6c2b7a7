import SwiftASN1

/// A verifier's request for the status of certificates (RFC 6960 §4.1.1). A signature on the
/// request is ignored: responders reply to anyone.
struct OCSPRequest: Sendable {
    /// Maximum number of bytes of a request.
    static let bytesMax = 16_384
    /// Maximum number of certificates in one request.
    static let questionsMax = 20

    /// One certificate whose status is requested.
    struct Question: Hashable, Sendable {
        let hashAlgorithm: ASN1ObjectIdentifier
        let issuerKeyHash: [UInt8]
        let serialNumber: [UInt8]
        /// The encoded CertID, which the response repeats.
        let encoded: [UInt8]
    }

    private static let nonce: ASN1ObjectIdentifier = [1, 3, 6, 1, 5, 5, 7, 48, 1, 2]

    var questions: [Question] = []
    /// The encoded nonce extension, which the response repeats.
    var encodedNonce: [UInt8]?

    init(derEncoded bytes: [UInt8]) throws {
        guard bytes.count <= Self.bytesMax else { throw Self.invalid("over the limit of bytes") }
        let outer = try Self.children(of: DER.parse(bytes))
        guard let contents = outer.first else { throw Self.invalid("empty") }
        for node in try Self.children(of: contents) {
            switch node.identifier {
            case .sequence: try readList(node)
            case ASN1Identifier(tagWithNumber: 2, tagClass: .contextSpecific):
                try readExtensions(node)
            // Ignores the version, and the requestor's name.
            default: continue
            }
        }
        guard (1...Self.questionsMax).contains(questions.count) else {
            throw Self.invalid("about \(questions.count) certificates")
        }
    }

    private mutating func readList(_ list: ASN1Node) throws {
        for request in try Self.children(of: list) {
            guard let id = try Self.children(of: request).first else {
                throw Self.invalid("without a certificate's id")
            }
            questions.append(try Question(id))
        }
    }

    private mutating func readExtensions(_ node: ASN1Node) throws {
        for list in try Self.children(of: node) {
            for entry in try Self.children(of: list) {
                guard let name = try Self.children(of: entry).first,
                    try ASN1ObjectIdentifier(derEncoded: name) == Self.nonce
                else { continue }
                encodedNonce = Array(entry.encodedBytes)
            }
        }
    }

    fileprivate static func children(of node: ASN1Node) throws -> [ASN1Node] {
        guard case .constructed(let nodes) = node.content else {
            throw invalid("not a constructed value")
        }
        return Array(nodes)
    }

    fileprivate static func invalid(_ what: String) -> ASN1Error {
        .invalidASN1Object(reason: "The OCSP request is \(what).")
    }
}

extension OCSPRequest.Question {
    /// Parses a CertID: algorithm, hash of the issuer's name, hash of its key, serial number.
    fileprivate init(_ id: ASN1Node) throws {
        let parts = try OCSPRequest.children(of: id)
        guard parts.count == 4, let algorithm = try OCSPRequest.children(of: parts[0]).first,
            case .primitive(let serial) = parts[3].content
        else { throw OCSPRequest.invalid("with an id that is not a CertID") }
        hashAlgorithm = try ASN1ObjectIdentifier(derEncoded: algorithm)
        issuerKeyHash = Array(try ASN1OctetString(derEncoded: parts[2]).bytes)
        serialNumber = Array(serial)
        encoded = Array(id.encodedBytes)
    }
}

import AppStoreFormats
import Crypto

/// Signs as Apple does: the header contains the certificates, and ES256 signs header and payload.
package struct Signer: Sendable {
    package var key: P256.Signing.PrivateKey
    package var certificates: [[UInt8]]

    package init(key: P256.Signing.PrivateKey, certificates: [[UInt8]]) {
        self.key = key
        self.certificates = certificates
    }

    package var header: JSON {
        let texts = certificates.map { Base64.standard.encode($0) }
        return [
            "alg": "ES256",
            "x5c": .array(texts.map { .string(String(decoding: $0, as: UTF8.self)) }),
        ]
    }

    package func jws(_ payload: JSON, header: JSON? = nil) throws -> [UInt8] {
        try jws(payload: payload.bytes, header: (header ?? self.header).bytes)
    }

    package func jws(payload: [UInt8], header: [UInt8]) throws -> [UInt8] {
        let dot = [UInt8(ascii: ".")]
        let signed = Base64.url.encode(header) + dot + Base64.url.encode(payload)
        return signed + dot
            + Base64.url.encode(try key.signature(for: SHA256.hash(data: signed)).rawRepresentation)
    }

    package func text(_ payload: JSON) throws -> String {
        String(decoding: try jws(payload), as: UTF8.self)
    }
}

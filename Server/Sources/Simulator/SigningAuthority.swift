import AppStoreFormats
import Crypto
import Foundation
import SwiftASN1
import X509

/// The simulator's own public-key infrastructure: a root, an intermediate and a leaf that signs as
/// Apple's does.
package struct SigningAuthority: Sendable {
    /// Leaf, intermediate, root, in DER.
    package let certificates: [[UInt8]]
    private let signingKey: P256.Signing.PrivateKey
    /// The header as Apple writes it, encoded once.
    private let headerSegment: [UInt8]

    /// A fresh root, which nobody trusts yet.
    package init() throws(SigningFailure) {
        do {
            let (rootKey, intermediateKey) = (P384.Signing.PrivateKey(), P384.Signing.PrivateKey())
            let key = P256.Signing.PrivateKey()
            let root = try Certificates.root(rootKey)
            let intermediate = try Certificates.intermediate(
                intermediateKey, under: root, signer: rootKey)
            let leaf = try Certificates.leaf(key, under: intermediate, signer: intermediateKey)
            let chain = try [leaf, intermediate, root].map(Self.der)
            self.init(key: key, certificates: chain)
        } catch { throw SigningFailure("The simulator's certificates could not be made: \(error)") }
    }

    /// The authority that ``stored`` came from, so that a root stays the same over restarts.
    package init(stored: [UInt8]) throws(SigningFailure) {
        guard let json = try? JSON(parsing: stored), let keyText = json["leaf_key"]?.string,
            let keyBytes = Base64.standard.decode(Array(keyText.utf8)),
            let key = try? P256.Signing.PrivateKey(rawRepresentation: keyBytes),
            let chain = json["certificates"]?.array?.compactMap({ text in
                text.string.flatMap { Base64.standard.decode(Array($0.utf8)) }
            }), chain.count == 3
        else {
            throw SigningFailure(
                "The stored signing authority is damaged. Remove the file: a new root is made then."
            )
        }
        self.init(key: key, certificates: chain)
    }

    private init(key: P256.Signing.PrivateKey, certificates: [[UInt8]]) {
        signingKey = key
        self.certificates = certificates
        headerSegment = Base64.url.encode(Self.header(certificates, overrides: []).bytes)
    }

    /// What ``init(stored:)`` reads. It holds the signing key; the two authorities' keys are thrown
    /// away once they have signed.
    package var stored: [UInt8] {
        let chain = certificates.map { JSON.string(Self.base64($0)) }
        let key = JSON.string(Self.base64([UInt8](signingKey.rawRepresentation)))
        return JSON.object([.init("leaf_key", key), .init("certificates", .array(chain))]).bytes
    }

    /// The certificate that a server must trust to believe this simulator.
    package var rootDER: [UInt8] { certificates[2] }

    /// A payload as a compact JWS (ES256), with the chain in its header.
    ///
    /// `header` replaces members of the header, adds others, and removes those whose value is null:
    /// for documents that a server must refuse.
    package func sign(
        _ payload: JSON, header overrides: [JSON.Member] = []
    ) throws(SigningFailure) -> String {
        let head =
            overrides.isEmpty
            ? headerSegment
            : Base64.url.encode(Self.header(certificates, overrides: overrides).bytes)
        let signed = head + [UInt8(ascii: ".")] + Base64.url.encode(payload.bytes)
        do {
            let signature = try signingKey.signature(for: signed).rawRepresentation
            let all = signed + [UInt8(ascii: ".")] + Base64.url.encode([UInt8](signature))
            return String(decoding: all, as: UTF8.self)
        } catch { throw SigningFailure("A payload could not be signed: \(error)") }
    }

    private static func header(_ chain: [[UInt8]], overrides: [JSON.Member]) -> JSON {
        var members: [JSON.Member] = [
            .init("alg", "ES256"), .init("x5c", .array(chain.map { .string(base64($0)) })),
        ]
        for override in overrides {
            members.removeAll { $0.key == override.key }
            if override.value != .null { members.append(override) }
        }
        return .object(members)
    }

    private static func base64(_ bytes: [UInt8]) -> String {
        String(decoding: Base64.standard.encode(bytes), as: UTF8.self)
    }

    private static func der(_ certificate: Certificate) throws -> [UInt8] {
        var serializer = DER.Serializer()
        try serializer.serialize(certificate)
        return serializer.serializedBytes
    }
}

/// Why something could not be signed.
package struct SigningFailure: Error, Hashable, Sendable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}

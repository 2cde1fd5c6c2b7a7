import AppStoreFormats
import Crypto
import SwiftASN1
import Testing
import X509

@testable import Simulator

@Suite struct SigningAuthorityTests {
    private func chain() throws -> [Certificate] {
        try Stage.authority.get().certificates.map { try Certificate(derEncoded: $0) }
    }

    @Test func `the certificates of an authority have Apple's extensions`() throws {
        let chain = try chain()
        let (leaf, intermediate, root) = (chain[0], chain[1], chain[2])
        #expect(leaf.extensions[oid: [1, 2, 840, 113635, 100, 6, 11, 1]]?.value == [5, 0])
        #expect(intermediate.extensions[oid: [1, 2, 840, 113635, 100, 6, 2, 1]]?.value == [5, 0])
        #expect(try root.extensions.authorityKeyIdentifier == nil)
        for (child, parent) in [(leaf, intermediate), (intermediate, root)] {
            let authority = try child.extensions.authorityKeyIdentifier?.keyIdentifier
            #expect(authority == (try parent.extensions.subjectKeyIdentifier?.keyIdentifier))
            #expect(authority != nil)
            #expect(parent.publicKey.isValidSignature(child.signature, for: child))
            #expect(child.issuer == parent.subject)
        }
    }

    @Test func `extensions that strict verifiers require as critical are critical`() throws {
        for certificate in try chain() {
            let constraints = certificate.extensions[oid: .X509ExtensionID.basicConstraints]
            let usage = certificate.extensions[oid: .X509ExtensionID.keyUsage]
            #expect(constraints?.critical == true && usage?.critical == true)
            #expect(try certificate.extensions.subjectKeyIdentifier != nil)
        }
        let constraints = try chain().map { try $0.extensions.basicConstraints }
        #expect(
            constraints == [
                .notCertificateAuthority, .isCertificateAuthority(maxPathLength: 0),
                .isCertificateAuthority(maxPathLength: nil),
            ])
    }

    @Test func `a payload is signed by the leaf, with the chain in the header`() throws {
        let authority = try Stage.authority.get()
        let jws = try require(CompactJWS(try authority.sign(["a": 1])), "no JWS")
        let header = try JWSHeader(parsing: require(jws.header, "no header"))
        #expect(header.algorithm == "ES256" && header.unknown.isEmpty)
        let certificates = try require(header.certificates, "no chain").map {
            Base64.standard.decode(Array($0.utf8))
        }
        #expect(certificates == authority.certificates)
        let key = try require(P256.Signing.PublicKey(chain()[0].publicKey), "no P-256 key")
        let signature = try P256.Signing.ECDSASignature(
            rawRepresentation: require(jws.signature, "no signature"))
        #expect(key.isValidSignature(signature, for: jws.signedBytes))
        #expect(jws.payload == JSON(dictionaryLiteral: ("a", 1)).bytes)
    }

    @Test func `a test can sign a header with false values`() throws {
        let signed = try Stage.authority.get().sign(
            [:], header: [.init("alg", "none"), .init("x5c", .null), .init("kid", "x")])
        let header = try JWSHeader(parsing: require(CompactJWS(signed)?.header, "no header"))
        #expect(header.algorithm == "none" && header.certificates == nil && header.keyID == "x")
    }

    @Test func `a restored authority still signs`() throws {
        let authority = try Stage.authority.get()
        let again = try SigningAuthority(stored: authority.stored)
        #expect(again.rootDER == authority.rootDER)
        let jws = try require(CompactJWS(try again.sign(["a": 1])), "no JWS")
        let key = try require(P256.Signing.PublicKey(chain()[0].publicKey), "no P-256 key")
        let signature = try P256.Signing.ECDSASignature(
            rawRepresentation: require(jws.signature, "no signature"))
        #expect(key.isValidSignature(signature, for: jws.signedBytes))
    }

    @Test func `a damaged authority is refused with a remedy`() {
        #expect {
            try SigningAuthority(stored: Array("{}".utf8))
        } throws: { "\($0)".contains("Remove the file") }
    }
}

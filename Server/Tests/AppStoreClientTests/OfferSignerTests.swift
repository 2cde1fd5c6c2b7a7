import AppStoreFormats
import Crypto
import Foundation
import Testing

@testable import AppStoreClient

/// Compares our signatures of offers with those that Apple's library makes with the same key.
@Suite struct OfferSignerTests {
    private let key: P256.Signing.PrivateKey
    private let signer: OfferSigner
    private static let now = AppStoreDate(milliseconds: 1_768_075_200_000)
    private static let token = "8D1C9A70-6B1F-4D52-9A4E-0F2B7F3C1A11"
    private static let nonce = "0F1E2D3C-4B5A-4978-8796-A5B4C3D2E1F0"

    init() throws {
        let half: [UInt8] = [0x12, 0x34, 0x56, 0x78, 0x90, 0xAB, 0xCD, 0xEF]
        key = try P256.Signing.PrivateKey(
            rawRepresentation: [UInt8](repeating: 0, count: 16) + half + half)
        signer = OfferSigner(
            try AppStoreCredentials(
                keyID: "K1", issuerID: "issuer", bundleID: "com.example.birds",
                privateKey: key.pemRepresentation))
    }

    /// Reads a signature that Apple's library made, by its name in the file.
    private func apples(_ name: String) throws -> String {
        let file = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "Tables/apple-offers.txt")
        let line = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
            .first { $0.hasPrefix("\(name): ") }
        return String(try #require(line).dropFirst(name.count + 2))
    }

    private func parts(_ text: String) throws -> (header: JSON, claims: JSON) {
        let jws = try #require(CompactJWS(text))
        let signature = try P256.Signing.ECDSASignature(
            rawRepresentation: try #require(jws.signature))
        #expect(key.publicKey.isValidSignature(signature, for: jws.signedBytes))
        return (
            try JSON(parsing: try #require(jws.header)),
            try JSON(parsing: try #require(jws.payload))
        )
    }

    @Test func `our version 1 signature of an offer signs the same text as Apple's library`() throws
    {
        let text = signer.signedText(
            product: "pro.monthly", offer: "stay", token: Self.token, nonce: Self.nonce,
            at: Self.now)
        let ours = try signer.promotionalSignature(
            product: "pro.monthly", offer: "stay", token: Self.token, nonce: Self.nonce,
            at: Self.now)
        for signature in [try apples("promotional_v1"), ours] {
            let bytes = try #require(Base64.standard.decode(Array(signature.utf8)))
            let signed = try P256.Signing.ECDSASignature(derRepresentation: bytes)
            #expect(key.publicKey.isValidSignature(signed, for: text))
        }
    }

    @Test
    func `our offer tokens equal those of Apple's library, except for the time and the nonce`()
        throws
    {
        let ours = [
            "promotional": try signer.promotionalToken(
                product: "pro.monthly", offer: "stay", transaction: "2000001", nonce: Self.nonce,
                at: Self.now),
            "promotional without transaction": try signer.promotionalToken(
                product: "pro.monthly", offer: "stay", transaction: nil, nonce: Self.nonce,
                at: Self.now),
            "introductory": try signer.introductoryToken(
                product: "pro.monthly", isAllowed: true, transaction: "2000001",
                nonce: Self.nonce, at: Self.now),
        ]
        for (name, text) in ours {
            let (ours, apples) = (try parts(text), try parts(try apples(name)))
            #expect(Set(ours.header.members ?? []) == Set(apples.header.members ?? []), "\(name)")
            let changing: Set = ["iat", "nonce"]
            let (mine, theirs) = (ours.claims.members ?? [], apples.claims.members ?? [])
            #expect(Set(mine.map(\.key)) == Set(theirs.map(\.key)), "\(name)")
            #expect(
                Set(mine.filter { !changing.contains($0.key) })
                    == Set(theirs.filter { !changing.contains($0.key) }), "\(name)")
            #expect(
                ours.claims["iat"] == 1_768_075_200 && ours.claims["nonce"]?.string == Self.nonce)
        }
    }

    @Test func `no description of the signer contains its key`() {
        var text = "\(signer)"
        dump(signer, to: &text)
        #expect(text.contains("K1") && !text.contains("PRIVATE") && !text.contains("EFzN"))
    }
}

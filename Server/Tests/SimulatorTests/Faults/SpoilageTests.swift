import AppStoreFormats
import Crypto
import Testing
import X509

@testable import Simulator

/// Returns whether the signature was made with the key of the given leaf certificate.
func isSigned(_ text: String, byLeaf leaf: [UInt8]) throws -> Bool {
    let jws = try require(CompactJWS(text), "no JWS")
    let certificate = try Certificate(derEncoded: leaf)
    let key = try require(P256.Signing.PublicKey(certificate.publicKey), "no P-256 key")
    let signature = try P256.Signing.ECDSASignature(
        rawRepresentation: require(jws.signature, "no signature"))
    return key.isValidSignature(signature, for: jws.signedBytes)
}

@Suite struct SpoilageTests {
    private func strays(_ fault: NotificationFault) async throws -> [SentNotification] {
        let stage = try Stage()
        try await stage.simulator.setFaults { try $0.notifications.order([fault]) }
        try await stage.buy("pro.monthly")
        // The genuine notification arrives, too.
        #expect(stage.letterBox.count == 2)
        #expect(await stage.simulator.notifications.count == 1)
        return await stage.simulator.strays
    }

    private func notification(_ text: String) throws -> NotificationPayload {
        try decode(NotificationPayload.self, text)
    }

    @Test(arguments: [NotificationFault.forged, .tampered])
    func `a forged document has genuine certificates and an invalid signature`(
        fault: NotificationFault
    ) async throws {
        let stray = try require(await strays(fault).first, "no stray")
        let chain = try Stage.authority.get().certificates
        let jws = try require(CompactJWS(stray.signedPayload), "no JWS")
        let header = try JWSHeader(parsing: require(jws.header, "no header"))
        #expect(header.certificates?.count == 3)
        #expect(try !isSigned(stray.signedPayload, byLeaf: chain[0]))
    }

    @Test func `a truncated document is not a JWS`() async throws {
        let stray = try require(await strays(.truncated).first, "no stray")
        #expect(CompactJWS(stray.signedPayload)?.signature == nil)
    }

    @Test func `an expired document was signed after its certificates had expired`() async throws {
        let stray = try require(await strays(.expired).first, "no stray")
        let leaf = try Stage.authority.get().certificates[0]
        #expect(try isSigned(stray.signedPayload, byLeaf: leaf))
        let signed = try require(notification(stray.signedPayload).signedDate, "no date")
        let end = try Certificate(derEncoded: leaf).notValidAfter.timeIntervalSince1970 * 1000
        #expect(Double(signed.milliseconds) > end)
    }

    @Test func `a document for another app or environment has a valid signature`() async throws {
        let app = try require(await strays(.wrongApp).first, "no stray")
        let content = try require(notification(app.signedPayload).data, "no data")
        #expect(content.bundleId == "com.example.other" && content.appAppleId == 999_999_999)
        let local = try require(await strays(.wrongEnvironment).first, "no stray")
        #expect(try notification(local.signedPayload).data?.environment == .localTesting)
        let leaf = try Stage.authority.get().certificates[0]
        #expect(try isSigned(app.signedPayload, byLeaf: leaf))
        #expect(try isSigned(local.signedPayload, byLeaf: leaf))
    }

    @Test func `a stray notification is posted once, whatever the response`() async throws {
        let stage = try Stage()
        try await stage.simulator.setFaults { try $0.notifications.order([.forged]) }
        stage.letterBox.answer(otherwise: PostResult(status: 500))
        try await stage.buy("pro.yearly")
        try await stage.advance("P7D")
        #expect(await stage.simulator.strays.map(\.attempts.count) == [1])
        #expect(await stage.simulator.notifications[0].attempts.count == 6)
    }
}

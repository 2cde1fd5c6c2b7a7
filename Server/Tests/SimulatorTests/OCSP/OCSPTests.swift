import AppStoreFormats
import Crypto
import Foundation
import Hummingbird
import HummingbirdTesting
import SwiftASN1
import Testing
import X509

@testable import Simulator

@Suite struct OCSPTests {
    private static let url = "http://127.0.0.1:8090/_sim/ocsp"
    private static let authority = Result { try SigningAuthority(ocspURL: url) }

    /// Passes a verifier's requests to the responder, without a network.
    private struct Messenger: OCSPRequester {
        let desk: RevocationResponder
        let revoked: Set<RevocationResponder.Subject>

        func query(request: [UInt8], uri: String) async -> OCSPRequesterQueryResult {
            do {
                return .response(try desk.response(to: request, at: Date(), revoked: revoked))
            } catch { return .terminalError(error) }
        }
    }

    /// Returns whether swift-certificates accepts the chain after an OCSP request for each
    /// certificate.
    private func isAccepted(
        _ authority: SigningAuthority, revoked: Set<RevocationResponder.Subject> = [],
        answering desk: RevocationResponder? = nil
    ) async throws -> Bool {
        let chain = try authority.certificates.map { try Certificate(derEncoded: $0) }
        let desk = try require(desk ?? authority.revocationResponder, "no desk")
        let messenger = Messenger(desk: desk, revoked: revoked)
        var verifier = Verifier(rootCertificates: CertificateStore([chain[2]])) {
            RFC5280Policy()
            OCSPVerifierPolicy(failureMode: .hard, requester: messenger)
        }
        let result = await verifier.validate(
            leaf: chain[0], intermediates: CertificateStore([chain[1]]))
        if case .validCertificate = result { return true }
        return false
    }

    @Test func `a verifier with OCSP accepts valid certificates, and refuses revoked ones`()
        async throws
    {
        let authority = try Self.authority.get()
        #expect(try await isAccepted(authority))
        #expect(try await !isAccepted(authority, revoked: [.leaf]))
        #expect(try await !isAccepted(authority, revoked: [.intermediate]))
    }

    @Test func `the OCSP responder of another authority is not trusted`() async throws {
        let other = try SigningAuthority(ocspURL: Self.url)
        #expect(try await !isAccepted(Self.authority.get(), answering: other.revocationResponder))
    }

    @Test
    func `a restored OCSP responder reports which certificates are valid and which are revoked`()
        async throws
    {
        let authority = try Self.authority.get()
        let again = try SigningAuthority(stored: authority.stored)
        #expect(again.ocspURL == Self.url)
        #expect(try await isAccepted(again))
        #expect(try await !isAccepted(again, revoked: [.leaf]))
    }

    @Test func `certificates name an OCSP responder only if it has a URL`() throws {
        let chain = try Stage.authority.get().certificates.map { try Certificate(derEncoded: $0) }
        for certificate in chain {
            #expect(try certificate.extensions.authorityInformationAccess == nil)
        }
        let asked = try Self.authority.get().certificates.map { try Certificate(derEncoded: $0) }
        for certificate in asked.dropLast() {
            let place = try certificate.extensions.authorityInformationAccess?.first
            #expect(place?.location == .uniformResourceIdentifier(Self.url))
        }
        #expect(try asked[2].extensions.authorityInformationAccess == nil)
    }

    @Test(arguments: [[], [0x30, 0x00], [0xFF], Array(repeating: 0x30, count: 20_000)])
    func `an invalid OCSP request is answered as invalid`(bytes: [UInt8]) throws {
        let desk = try require(Self.authority.get().revocationResponder, "no desk")
        let answer = try desk.response(to: bytes, at: Date(), revoked: [])
        #expect(answer == [0x30, 0x03, 0x0A, 0x01, 0x01])
    }

    @Test func `over HTTP the OCSP responder answers only at the URL in the certificates`()
        async throws
    {
        let stage = try Stage()
        let app = Application(router: stage.simulator.router())
        let refused = try await app.test(.router) { client in
            try await client.execute(
                uri: "/_sim/ocsp", method: .post, body: ByteBuffer(bytes: [0x30, 0x00]))
        }
        #expect(refused.status == .conflict)
        #expect(String(buffer: refused.body).contains("--ocsp-url"))
        let settings = SimulatorSettings(shop: try ExampleShop.file())
        let asked = AppStoreSimulator(
            settings, authority: try Self.authority.get(),
            post: { _, _ in PostResult(status: 200) })
        let answer = try await Application(router: asked.router()).test(.router) { client in
            try await client.execute(
                uri: "/_sim/ocsp", method: .post, body: ByteBuffer(bytes: [0x30, 0x00]))
        }
        #expect(answer.headers[.contentType] == "application/ocsp-response")
        #expect([UInt8](answer.body.readableBytesView) == OCSPResponder.malformedRequest)
    }

    @Test func `a reset sets which certificates are revoked`() throws {
        var settings = SimulatorSettings(shop: try ExampleShop.file())
        func read(_ text: String) throws {
            let json: JSON = ["revoked_certificates": try JSON(parsing: text.utf8)]
            let known = ["revoked_certificates"]
            try settings.readAPI(Simulator.RequestBody(json, known: known, place: "The body"))
        }
        try read(#"["leaf","intermediate"]"#)
        #expect(settings.revokedCertificates == [.leaf, .intermediate])
        #expect(throws: SimulatorProblem.self) { try read(#"["root"]"#) }
        try read("[]")
        #expect(settings.revokedCertificates.isEmpty)
    }
}

import AppStoreFormats
import Crypto
import Foundation
import Testing
import X509

@testable import Simulator

/// Receipts made from a seed have the same bytes in every process.
@Suite struct SeededReceiptTests {
    /// Computed by another program, with Python's integers. Each row: the text, and the highest
    /// and lowest 64 bits of the prime.
    private static let primes: [(String, UInt64, UInt64)] = [
        ("one", 0xCF7D_1BF4_81BB_F782, 0xA5C3_F3E1_5748_4C83),
        ("two", 0xD9E3_2BB9_7B1C_C102, 0x8B3B_C869_2526_B265),
        ("three", 0xE598_D907_6A97_33EC, 0xB30F_EDEB_05E6_CCE3),
    ]

    @Test(arguments: primes)
    func `a seed text always gives the same prime: the first prime after its hash`(
        text: String, high: UInt64, low: UInt64
    ) {
        let prime = SeededPrime(text)
        #expect(prime.limbs.count == 16)
        #expect(prime.limbs.last == high && prime.limbs.first == low)
    }

    @Test func `a key that is made from two texts signs validly, and is the same each time`() throws
    {
        let (one, other) = (SeededPrime("one"), SeededPrime("two"))
        let key = try SeededRSAKey(one, other).key
        #expect(key.keySizeInBits == 2048)
        let message = Data("message".utf8)
        let signature = try key.signature(for: message, padding: .insecurePKCS1v1_5)
        #expect(
            key.publicKey.isValidSignature(
                signature, for: message, padding: .insecurePKCS1v1_5))
        #expect(
            !key.publicKey.isValidSignature(
                signature, for: message + [0], padding: .insecurePKCS1v1_5))
        let again = try SeededRSAKey(one, other).key
        #expect(again.derRepresentation == key.derRepresentation)
    }

    private func receipts(_ seed: UInt64) async throws -> [String] {
        let stage = try Stage()
        var settings = await stage.simulator.settings
        (settings.seed, settings.isDeterministic) = (seed, true)
        try await stage.simulator.reset(settings)
        let id = try await stage.buy("pro.monthly").transactionID
        return [
            try await stage.simulator.receipt(on: "anna-1"),
            try await stage.simulator.transactionReceipt(of: id),
            try stage.simulator.authority.receipts.rootDER.map(String.init).joined(),
        ]
    }

    @Test func `equal seeds give equal receipts, bytes and roots, and different seeds differ`()
        async throws
    {
        let (one, same, other) = try await (receipts(7), receipts(7), receipts(8))
        #expect(one == same)
        #expect(zip(one, other).allSatisfy { $0 != $1 })
    }

    @Test func `OpenSSL accepts the chain of a seed, and the serial numbers differ`() throws {
        let authority = try ReceiptAuthority(seed: 7)
        let chain = try (authority.certificates + [authority.transactionCertificate]).map {
            try Certificate(derEncoded: $0)
        }
        #expect(Set(chain.prefix(3).map(\.serialNumber)).count == 3)
        let folder = try TemporaryFolder()
        let files = try chain.enumerated().map { number, certificate in
            try folder.write("\(number).pem", Array(certificate.serializeAsPEM().pemString.utf8))
        }
        guard OpenSSL.isInstalled else { return print("skipped: no openssl") }
        let root = ["verify", "-x509_strict", "-no-CApath", "-CAfile", files[2]]
        #expect(try OpenSSL.run(root + ["-untrusted", files[1], files[0]]) == 0)
        #expect(try OpenSSL.run(root + [files[3]]) == 0)
        #expect(try OpenSSL.run(root + [files[0]]) != 0)
    }

    @Test func `a reset to the same seed keeps the receipt keys`() async throws {
        let stage = try Stage()
        var settings = await stage.simulator.settings
        settings.isDeterministic = true
        try await stage.simulator.reset(settings)
        let before = stage.simulator.authority
        try await stage.simulator.reset(settings)
        #expect(stage.simulator.authority.sharesReceiptKeys(as: before))
        settings.seed += 1
        try await stage.simulator.reset(settings)
        #expect(!stage.simulator.authority.sharesReceiptKeys(as: before))
    }

    @Test func `equal seeds give equal keys of the OCSP responder, and different seeds differ`()
        throws
    {
        let url = "http://127.0.0.1:1/ocsp"
        let desks = try [7, 7, 8].map { seed in
            try SigningAuthority(seed: seed, ocspURL: url).revocationResponder?.stored.text
        }
        #expect(desks[0] != nil && desks[0] == desks[1] && desks[0] != desks[2])
    }
}

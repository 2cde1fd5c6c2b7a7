import AppStoreFormats
import Dice
import SoftAuthenticator
import Testing

@testable import Passkeys

/// Bytes that are not what an authenticator sends.
@Suite struct MalformedAnswerTests {
    private func isRefused(_ bytes: [UInt8]) -> Bool {
        var reader = CBORReader(bytes)
        return (try? reader.value()) == nil
    }

    @Test func `CBOR integers, strings, lists, maps, Booleans and null are read`() throws {
        let rows: [([UInt8], CBORValue)] = [
            ([0x00], .integer(0)), ([0x17], .integer(23)), ([0x18, 0x18], .integer(24)),
            ([0x19, 0x01, 0x00], .integer(256)), ([0x20], .integer(-1)),
            ([0x39, 0x01, 0x00], .integer(-257)), ([0x42, 1, 2], .bytes([1, 2])),
            ([0x61, 0x61], .text("a")), ([0x82, 1, 2], .array([.integer(1), .integer(2)])),
            ([0xA1, 0x61, 0x61, 0xF5], .map([.text("a"): .bool(true)])),
            ([0xF4], .bool(false)), ([0xF6], .null),
            ([0x1B, 0x7F, 255, 255, 255, 255, 255, 255, 255], .integer(.max)),
            ([0x3B, 0x7F, 255, 255, 255, 255, 255, 255, 255], .integer(.min)),
        ]
        for (bytes, value) in rows {
            var reader = CBORReader(bytes)
            #expect(try reader.value() == value && reader.isAtEnd, "\(bytes)")
        }
    }

    @Test
    func `CBOR that is truncated, indefinite, tagged, repeated, too deep or too long is refused`() {
        let rows: [[UInt8]] = [
            [], [0x18], [0x42, 1], [0x61, 0xFF], [0x82, 1], [0xA1, 1],
            // Lengths that are not definite, or reserved.
            [0x5F, 0x41, 1, 0xFF], [0x9F, 0xFF], [0xBF, 0xFF], [0x1C],
            // A tag, numbers with a point, an unknown simple value.
            [0xC0, 0x61, 0x61], [0xF9, 0, 0], [0xFB, 0, 0, 0, 0, 0, 0, 0, 0], [0xF7],
            // The same key twice, and lengths beyond the end.
            [0xA2, 1, 1, 1, 2], [0x5B, 0x7F, 255, 255, 255, 255, 255, 255, 255],
            [0x9B, 0x7F, 255, 255, 255, 255, 255, 255, 255],
            [0x1B, 255, 255, 255, 255, 255, 255, 255, 255],
            [UInt8](repeating: 0x81, count: CBORReader.depthMax + 1) + [1],
            [0x99, 0x02, 0x00] + [UInt8](repeating: 1, count: 512),
        ]
        for bytes in rows { #expect(isRefused(bytes), "\(bytes.prefix(10))") }
        #expect(!isRefused([UInt8](repeating: 0x81, count: CBORReader.depthMax) + [1]))
    }

    @Test func `a passkey's public key of another kind, or off its curve, is refused`() throws {
        let key = SoftAuthenticator(host: "", origin: "").publicKey
        #expect(try PasskeyPublicKey(parsing: key).encoded == key)
        let changes: [(Int, UInt8, String)] = [
            (2, 0x01, "the type"), (4, 0x27, "the algorithm"), (6, 0x02, "the curve"),
            (10, key[10] ^ 1, "x, so that the point is off the curve"),
        ]
        for (position, byte, what) in changes {
            var changed = key
            changed[position] = byte
            #expect(throws: PasskeyFailure.unsupportedKey, "\(what)") {
                try PasskeyPublicKey(parsing: changed)
            }
        }
        #expect(throws: PasskeyFailure.self) { try PasskeyPublicKey(parsing: key + [0]) }
        #expect(throws: PasskeyFailure.unsupportedKey) { try PasskeyPublicKey(parsing: [0xA0]) }
    }

    @Test func `a damaged passkey answer is refused, and never stops the program`() throws {
        let site = try #require(RelyingParty(origin: "https://localhost"))
        // The device is for another host, so no change can make its answer valid.
        var device = SoftAuthenticator(host: "example.com", origin: site.origin)
        let fields = device.register("", user: "")
        let attestation = try #require(
            Base64.url.decode(Array((fields["attestation"] ?? "").utf8)))
        let client = SoftAuthenticator.text(device.client("webauthn.create", ""))
        var dice = Dice(announcedBy: "MalformedAnswerTests")
        for round in 0..<2_000 {
            let changed = dice.damaged(
                attestation, marks: [0x45, 0xA1, 0x58, 0x59, 0x5F, 0x81, 0xC0, 0xFF])
            let answer = try RegistrationAnswer(
                client: client, attestation: SoftAuthenticator.text(changed))
            #expect(throws: PasskeyFailure.self, "round \(round)") {
                try site.verify(answer, challenge: [])
            }
        }
    }

    @Test func `passkey fields that are too long or not base64url are refused`() {
        let long = String(repeating: "A", count: 20_000)
        for text in [long, "a+b=", "ä"] {
            #expect(throws: PasskeyFailure.self) {
                try RegistrationAnswer(client: text, attestation: "")
            }
            #expect(throws: PasskeyFailure.self) {
                try AssertionAnswer(
                    credential: text, client: "", authenticator: "", signature: "", user: "")
            }
        }
    }
}

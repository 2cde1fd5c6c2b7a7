import RevenueCatWire
import Testing

/// The byte layout of the signatures that RevenueCat's SDK verifies.
@Suite struct RevenueCatSignatureTests {
    private static let answer = RevenueCatSignedAnswer(
        salt: Array(repeating: 1, count: 16), key: "appl_a", nonce: Array(repeating: 2, count: 12),
        path: "/v1/subscribers/a%3Ab", parametersHash: "p:sha256:00", headersHash: "h:sha256:11",
        requestTime: "1772366400000", tag: "tag", body: Array("{}\n".utf8))

    /// A change of the answer, and the payload that follows, without the salt.
    static let payloads:
        [(change: @Sendable (inout RevenueCatSignedAnswer) -> Void, text: String)] =
            [
                ({ _ in }, "appl_a/v1/subscribers/a%3Abp:sha256:00h:sha256:111772366400000tag{}\n"),
                (
                    { $0.key = "" },
                    "/v1/subscribers/a%3Abp:sha256:00h:sha256:111772366400000tag{}\n"
                ),
                (
                    { ($0.parametersHash, $0.headersHash) = ("", "") },
                    "appl_a/v1/subscribers/a%3Ab1772366400000tag{}\n"
                ),
                (
                    { ($0.tag, $0.body) = ("", []) },
                    "appl_a/v1/subscribers/a%3Abp:sha256:00h:sha256:111772366400000"
                ),
            ]

    @Test(arguments: payloads.indices)
    func `the signed payload consists of its parts in order, without separators`(
        number: Int
    ) {
        var answer = Self.answer
        Self.payloads[number].change(&answer)
        let key = Array(answer.key.utf8)
        let rest = Array(Self.payloads[number].text.utf8.dropFirst(key.count))
        #expect(answer.payload == answer.salt + key + answer.nonce + rest)
    }

    @Test func `a change in any part of an answer changes the signed payload`() {
        let changes: [(inout RevenueCatSignedAnswer) -> Void] = [
            { $0.salt[0] = 9 }, { $0.key += "x" }, { $0.nonce[11] = 9 }, { $0.path += "x" },
            { $0.parametersHash += "x" }, { $0.headersHash += "x" }, { $0.requestTime += "0" },
            { $0.tag += "x" }, { $0.body.append(1) },
        ]
        for change in changes {
            var other = Self.answer
            change(&other)
            #expect(other.payload != Self.answer.payload)
        }
    }

    @Test func `the header has key, day, certificate, salt and signature in 180 bytes`() {
        func part(_ byte: UInt8, _ count: Int) -> [UInt8] { Array(repeating: byte, count: count) }
        let signature = RevenueCatSignature(
            key: part(1, 32), lastDay: 0x0102_0304, certificate: part(3, 64), salt: part(4, 16),
            signature: part(5, 64))
        let bytes = signature.bytes
        #expect(bytes.count == 180)
        #expect(Array(bytes[0..<32]) == part(1, 32))
        #expect(Array(bytes[32..<36]) == [4, 3, 2, 1])
        #expect(Array(bytes[36..<100]) == part(3, 64))
        #expect(Array(bytes[100..<116]) == part(4, 16))
        #expect(Array(bytes[116..<180]) == part(5, 64))
        let certified = RevenueCatSignature.certified(part(1, 32), until: 0x0102_0304)
        #expect(certified == [4, 3, 2, 1] + part(1, 32))
    }

    static let hashes: [(text: String, names: [String]?)] = [
        ("app_user_id,fetch_token:sha256:AB01", ["app_user_id", "fetch_token"]),
        ("X-Is-Sandbox:sha256:ab01", ["X-Is-Sandbox"]), ("a:sha1:ab01", nil), ("a:sha256", nil),
        (":sha256:ab01", nil), ("a:sha256:ab:01", nil), ("", nil),
        ((0...10).map { "n\($0)" }.joined(separator: ",") + ":sha256:ab01", nil),
    ]

    @Test(arguments: hashes.indices)
    func `the digest of posted values is read with the names of the values`(number: Int) {
        let (text, names) = Self.hashes[number]
        let hash = RevenueCatValuesHash(text)
        #expect(hash?.names == names)
        #expect(hash == nil || hash?.digest == "ab01")
    }

    @Test func `two values are separated by a zero byte, and absent values are omitted`() {
        #expect(RevenueCatValuesHash.input(of: ["a", "bc"]) == [0x61, 0, 0x62, 0x63])
        #expect(RevenueCatValuesHash.input(of: ["a"]) == [0x61])
        #expect(RevenueCatValuesHash.input(of: []).isEmpty)
    }
}

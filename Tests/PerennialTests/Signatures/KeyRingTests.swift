import Testing

@testable import Perennial
@testable import PerennialContract

struct KeyRingTests {
    private let first = TestSigner("first")
    private let second = TestSigner("second")
    private let third = TestSigner("third")
    private let thief = TestSigner("thief")

    private func set(_ keys: [TestSigner], _ chain: [String]) -> TokenKeySet {
        TokenKeySet(keys: keys.map(\.published), chain: chain)
    }

    @Test func `a chain of two rotations leads from the pinned key to the current one`() {
        var ring = KeyRing(pinned: [first.signingKey])
        let chain = [first.introduction(of: second), second.introduction(of: third)]
        #expect(ring.verify(third.token(), type: "JWT") == nil)
        let isNew = ring.learn(from: set([third], chain), app: "birds")
        #expect(isNew)
        #expect(ring.keys.map(\.id) == ["first", "second", "third"])
        #expect(ring.introductions == chain)
        #expect(ring.verify(third.token(), type: "JWT") != nil)
        let isNewAgain = ring.learn(from: set([third], chain), app: "birds")
        #expect(!isNewAgain)
    }

    @Test func `a broken chain of introductions adds no trusted key`() {
        let whole = [first.introduction(of: second), second.introduction(of: third)]
        let chains: [(String, [String])] = [
            ("a link is missing", [whole[1]]),
            ("the order is wrong", [whole[1], first.introduction(of: third).uppercased()]),
            ("another key signed", [thief.jws("{}"), thief.introduction(of: third)]),
            ("another typ", [first.introduction(of: third, type: "JWT")]),
            ("another app", [first.introduction(of: third, audience: "cats/keys")]),
            ("an audience of tokens", [first.introduction(of: third, audience: "birds")]),
            ("a signature of another text", [swapped(whole[0], first.introduction(of: third))]),
        ]
        for (what, chain) in chains {
            var ring = KeyRing(pinned: [first.signingKey])
            _ = ring.learn(from: set([third, thief], chain), app: "birds")
            #expect(ring.verify(third.token(), type: "JWT") == nil, "\(what)")
            #expect(ring.verify(thief.token(), type: "JWT") == nil, "\(what)")
        }
    }

    /// A text with the header and payload of the second text and the signature of the first.
    private func swapped(_ one: String, _ two: String) -> String {
        two.split(separator: ".").prefix(2).joined(separator: ".") + "."
            + String(one.split(separator: ".")[2])
    }

    @Test func `entries of other apps in the chain are skipped`() {
        var ring = KeyRing(pinned: [first.signingKey])
        let other = TestSigner("other")
        let chain = [
            other.introduction(of: thief, audience: "cats/keys"), first.introduction(of: second),
            "nonsense", second.introduction(of: third),
        ]
        _ = ring.learn(from: set([], chain), app: "birds")
        #expect(ring.keys.map(\.id) == ["first", "second", "third"])
    }

    @Test func `without pinned keys, only the first set of keys is trusted`() {
        var ring = KeyRing()
        let learnt = [
            ring.learn(from: set([first], []), app: nil),
            ring.learn(from: set([thief], []), app: "birds"),
            ring.learn(from: set([], [first.introduction(of: second)]), app: "birds"),
        ]
        #expect(learnt == [true, false, true])
        #expect(ring.verify(thief.token(), type: "JWT") == nil)
        #expect(ring.verify(second.token(), type: "JWT") != nil)
    }

    @Test func `an introduction of a key cannot replace a trusted key`() {
        var ring = KeyRing(pinned: [first.signingKey, second.signingKey])
        let namesake = TestSigner("second")
        _ = ring.learn(from: set([], [first.introduction(of: namesake)]), app: "birds")
        #expect(ring["second"] == second.signingKey)
    }

    @Test func `a chain of more than a hundred entries is followed only up to the limit`() {
        let signers = (0...110).map { TestSigner("key\($0)") }
        let chain = zip(signers, signers.dropFirst()).map { $0.introduction(of: $1) }
        var ring = KeyRing(pinned: [signers[0].signingKey])
        _ = ring.learn(from: set([], chain), app: "birds")
        #expect(ring.keys.count == KeyRing.keysMax)
    }

    @Test func `only ES256 is accepted, whatever the header says`() {
        let ring = KeyRing(pinned: [first.signingKey])
        for header in [
            #"{"alg":"none","kid":"first","typ":"JWT"}"#,
            #"{"alg":"HS256","kid":"first","typ":"JWT"}"#,
            #"{"kid":"first","typ":"JWT"}"#,
            #"{"alg":"ES256","kid":"first","typ":"JWT","crit":["b64"],"b64":false}"#,
            #"{"alg":"ES256","alg":"ES256","kid":"first","typ":"JWT"}"#,
            #"{"alg":"ES256","kid":"first"}"#,
        ] {
            #expect(ring.verify(first.token(header: header), type: "JWT") == nil, "\(header)")
        }
        #expect(ring.verify(first.token(), type: "JWT") != nil)
    }

    @Test func `a text that exceeds its limit is not read`() {
        let ring = KeyRing(pinned: [first.signingKey])
        let text = first.jws("\"" + String(repeating: "a", count: 60_000) + "\"")
        #expect(ring.verify(text, type: "JWT") == nil)
        #expect(ring.verify(text, type: "JWT", bytesMax: 100_000) != nil)
    }
}

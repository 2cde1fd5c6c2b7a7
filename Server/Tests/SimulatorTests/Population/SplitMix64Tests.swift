import Foundation
import Testing

@testable import Simulator

@Suite struct SplitMix64Tests {
    @Test func `SplitMix64 gives the random numbers of its reference implementation`() {
        var random = SplitMix64(seed: 1_234_567)
        let expected: [UInt64] = [
            6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423,
        ]
        let numbers = expected.map { _ in random.next() }
        #expect(numbers == expected)
    }

    @Test func `a UUID is of version 4 and written as Apple writes it`() throws {
        for seed in UInt64(0)..<100 {
            var (random, numbers) = (SplitMix64(seed: seed), SplitMix64(seed: seed))
            let text = random.uuid()
            let uuid = try require(UUID(uuidString: text), "\(text) is no UUID")
            #expect(text == uuid.uuidString.lowercased())
            var bytes = [numbers.next(), numbers.next()].flatMap { number in
                (0..<8).map { UInt8(truncatingIfNeeded: number >> UInt64(56 - $0 * 8)) }
            }
            bytes[6] = bytes[6] & 0x0F | 0x40
            bytes[8] = bytes[8] & 0x3F | 0x80
            #expect(withUnsafeBytes(of: uuid.uuid) { Array($0) } == bytes)
        }
    }
}

/// The ids and random numbers of a world. The same seed and district always give the same ids and
/// numbers.
struct WorldNumbers: Sendable {
    // Each seed has a thousand million ids. Worlds of different seeds (below 700,000) never share
    // an id, so a database that is kept after a reset never sees an id twice. All ids have 15
    // digits.
    private static let idsPerSeed: Int64 = 1_000_000_000
    private static let idsPerDistrict: Int64 = 1_000_000
    private static let firstID: Int64 = 200_000_000_000_000
    private static let seedsMax: UInt64 = 700_000

    private var random: SplitMix64
    private var counter: Int64

    /// - Parameter district: distinguishes worlds of the same seed, so that they share no ids.
    init(seed: UInt64, district: Int) {
        random = SplitMix64(seed: seed ^ UInt64(district) &* 0x9E6C_63D0_876A_3F35)
        let block = Int64(seed % Self.seedsMax)
        counter =
            Self.firstID + block * Self.idsPerSeed + Int64(district) * Self.idsPerDistrict
    }

    mutating func newID() -> String {
        counter += 1
        return lastID
    }

    /// The newest id. All ids have the same length, so newer ids compare as greater.
    var lastID: String { String(counter) }

    mutating func newUUID() -> String { random.uuid() }

    mutating func randomIndex(below count: Int) -> Int { Int(random.next() % UInt64(count)) }
}

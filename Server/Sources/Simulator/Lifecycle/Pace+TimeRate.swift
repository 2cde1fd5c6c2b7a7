extension Pace {
    /// The pace of a rate in a `.storekit` file, which is the number of a case of
    /// `SKTestSession.TimeRate`. Returns nil for real time and for unknown numbers. The rates 1 to
    /// 6, which scaled days until Xcode 13, map to the nearest current rate; 14, which Xcode does
    /// not offer, maps to the sandbox's three minutes.
    init?(timeRate number: Int64) {
        switch number {
        case 1, 10: self = .monthly(.oneHour)
        case 2, 11: self = .monthly(.thirtyMinutes)
        case 12: self = .monthly(.fifteenMinutes)
        case 1000: self = .every(900_000)
        case 3, 13: self = .monthly(.fiveMinutes)
        case 14: self = .monthly(.threeMinutes)
        case 5, 15: self = .monthly(.thirtySeconds)
        case 1001: self = .every(300_000)
        case 4, 1002: self = .every(60_000)
        case 1003: self = .every(30_000)
        case 1004: self = .every(10_000)
        case 6, 1005: self = .every(2_000)
        default: return nil
        }
    }
}

import AppStoreFormats

/// The clock of a device. Customers can set it, but the time since the device was started always
/// continues.
struct DeviceClock: Hashable, Sendable {
    /// The maximum difference between the clock and the App Store's time: a hundred years.
    static let offsetMillisecondsMax: Int64 = 100 * 366 * 86_400_000

    /// How many milliseconds the clock is ahead of the App Store's time.
    private(set) var offsetMilliseconds: Int64 = 0
    /// When the device was started, in the App Store's time. Nil if that was at the beginning of
    /// the world.
    private(set) var started: AppStoreDate?
    private(set) var startCount = 0

    /// Sets the clock by hand. The difference from the App Store's time then stays the same.
    mutating func set(to moment: AppStoreDate, at now: AppStoreDate) throws(SimulatorProblem) {
        let (offset, overflow) = moment.milliseconds.subtractingReportingOverflow(
            now.milliseconds)
        guard !overflow, abs(offset) <= Self.offsetMillisecondsMax else {
            throw .badRequest(
                "A device's clock is at most a hundred years from the store's.",
                remedy: "Send a time nearer to \(RFC3339.text(now)).")
        }
        offsetMilliseconds = offset
    }

    /// Sets the clock to the App Store's time, as the network does.
    mutating func synchronize() { offsetMilliseconds = 0 }

    /// Restarts the device. The difference from the App Store's time stays the same.
    mutating func restart(at now: AppStoreDate) {
        started = now
        startCount += 1
    }

    /// The time that the device shows.
    func reading(at now: AppStoreDate) -> AppStoreDate {
        AppStoreDate(milliseconds: now.milliseconds + offsetMilliseconds)
    }
}

package import Foundation
package import PerennialContract

/// The clocks of a device.
package protocol DeviceClock: Sendable {
    /// The time of the device's clock, which its user can set.
    func now() -> Timestamp
    /// Milliseconds since the device was started, including sleep. The user cannot set this clock.
    func monotonic() -> Int64
    /// The value of ``monotonic()`` on the machine that runs the app. It differs from the device's
    /// value only in tests.
    func machine() -> Int64
    /// Identifies the period since the device was started. The value changes with each start.
    func bootID() -> String
    /// Waits for a number of milliseconds. Throws when the task is cancelled. May return early if
    /// the wait is longer than a year.
    func sleep(milliseconds: Int64) async throws
}

extension DeviceClock {
    package func machine() -> Int64 { SystemClock().monotonic() }
}

/// The clocks of the machine that runs the app.
struct SystemClock: DeviceClock {
    func now() -> Timestamp {
        Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1000))
    }

    func monotonic() -> Int64 {
        #if canImport(Darwin)
            Int64(clock_gettime_nsec_np(CLOCK_MONOTONIC_RAW) / 1_000_000)
        #else
            var time = timespec()
            clock_gettime(CLOCK_BOOTTIME, &time)
            return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
        #endif
    }

    func bootID() -> String { Self.bootID }

    /// The id is read only once, because no process outlives the boot, and every computation of the
    /// reckoned time needs the id.
    private static let bootID: String = {
        #if canImport(Darwin)
            var size = 0
            sysctlbyname("kern.bootsessionuuid", nil, &size, nil, 0)
            guard size > 0, size <= 64 else { return "" }
            var bytes = [UInt8](repeating: 0, count: size)
            sysctlbyname("kern.bootsessionuuid", &bytes, &size, nil, 0)
            return String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        #else
            // Uses the system call, because `String(contentsOfFile:)` takes ten times as long.
            let bytes = try? FileBytes.read("/proc/sys/kernel/random/boot_id", bytesMax: 64)
            return String(decoding: (bytes ?? []).prefix { $0 > 0x20 }, as: UTF8.self)
        #endif
    }()

    func sleep(milliseconds: Int64) async throws {
        try await Task.sleep(nanoseconds: (TimeInterval(milliseconds) / 1000).nanoseconds)
    }
}

extension Timestamp {
    /// The timestamp as a `Date`.
    package var date: Date { Date(timeIntervalSince1970: Double(milliseconds) / 1000) }

    package init(_ date: Date) {
        self.init(milliseconds: Int64((date.timeIntervalSince1970 * 1000).rounded()))
    }
}

extension TimeInterval {
    /// The longest time, in seconds, that the SDK waits: a year.
    private static let secondsMax: Self = 365 * 86_400

    /// The seconds in nanoseconds, or zero if the number is negative or NaN.
    var nanoseconds: UInt64 { self > 0 ? UInt64(min(self, Self.secondsMax) * 1_000_000_000) : 0 }
}

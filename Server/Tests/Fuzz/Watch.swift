import Foundation

/// What one input may cost.
struct Watch {
    /// Of this process' time on a processor: what other processes do does not count. A debug build
    /// takes twenty times as long, and may.
    #if DEBUG
        static let nanosecondsMax: Int64 = 1_000_000_000
    #else
        static let nanosecondsMax: Int64 = 50_000_000
    #endif
    /// Beyond what was in use when the corpus had been read once.
    static let bytesMax = 64 * 1_048_576
    /// Whatever costs too much is tried again so often, and its least cost counts: the first time
    /// of anything may be slow.
    static let repeats = 3

    private(set) var slowest: Int64 = 0
    private let bytesBefore: Int

    init() { bytesBefore = Self.bytesInUse }

    /// The most that was in use at once, beyond what was before.
    var bytes: Int { max(0, Self.bytesInUse - bytesBefore) }

    mutating func note(nanoseconds: Int64) { slowest = max(slowest, nanoseconds) }

    static func processorNanoseconds() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    /// The most memory that this process ever had in use, as the kernel counts it.
    private static var bytesInUse: Int {
        var usage = rusage()
        #if canImport(Glibc)
            getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
            return Int(usage.ru_maxrss) * 1024
        #else
            getrusage(RUSAGE_SELF, &usage)
            return Int(usage.ru_maxrss)
        #endif
    }
}

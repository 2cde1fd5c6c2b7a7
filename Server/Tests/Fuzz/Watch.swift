import Foundation

/// The limits of time and memory for one input.
struct Watch {
    /// The time limit of one input, in processor time of this process, so that other processes do
    /// not count. A debug build is about twenty times slower, so its limit is higher.
    #if DEBUG
        static let nanosecondsMax: Int64 = 1_000_000_000
    #else
        static let nanosecondsMax: Int64 = 50_000_000
    #endif
    /// The limit of additional memory. The memory in use after the corpus was read once is not
    /// counted.
    static let bytesMax = 64 * 1_048_576
    /// How often an input over a limit is tried again. The lowest cost of all tries counts,
    /// because a first run may be slow.
    static let repeats = 3

    private(set) var slowest: Int64 = 0
    private let bytesBefore: Int

    init() { bytesBefore = Self.bytesInUse }

    /// The peak of memory in bytes, minus the memory in use before the run.
    var bytes: Int { max(0, Self.bytesInUse - bytesBefore) }

    mutating func note(nanoseconds: Int64) { slowest = max(slowest, nanoseconds) }

    static func processorNanoseconds() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    /// The peak memory of this process, as the kernel counts it.
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

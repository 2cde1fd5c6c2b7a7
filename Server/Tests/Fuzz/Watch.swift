import Foundation

/// The limits of time and memory for one input.
struct Watch {
    /// Processor time of this process, so other processes do not count. A debug build is about
    /// twenty times slower and has a higher limit.
    #if DEBUG
        static let nanosecondsMax: Int64 = 1_000_000_000
    #else
        static let nanosecondsMax: Int64 = 50_000_000
    #endif
    /// Memory beyond what was in use after the corpus had been read once.
    static let bytesMax = 64 * 1_048_576
    /// An input over a limit is tried this number of times, and its lowest cost counts: a first run
    /// may be slow.
    static let repeats = 3

    private(set) var slowest: Int64 = 0
    private let bytesBefore: Int

    init() { bytesBefore = Self.bytesInUse }

    /// The peak of memory, beyond what was in use before.
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

import Foundation

/// Seconds of processor time, which a busy machine does not change as it changes those of the wall.
enum Effort {
    /// Of this thread, in seconds.
    static var ofThisThread: Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    /// Of another process, user and system together, in seconds. In ticks of the kernel, 10 ms.
    ///
    /// - Throws: ``BenchFailure`` where there is no such process, or no /proc.
    static func of(process: Int32) throws -> Double {
        let text = try proc(process, "stat")
        // The name of the program, in parentheses, may hold spaces.
        guard let end = text.lastIndex(of: ")") else { throw BenchFailure("/proc: \(text)") }
        let fields = text[text.index(after: end)...].split(separator: " ")
        // proc(5): utime is field 14, stime field 15; the state behind the name is field 3.
        guard fields.count > 13, let user = Double(fields[11]), let system = Double(fields[12])
        else { throw BenchFailure("/proc: \(text)") }
        return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    /// Resident memory of another process, in MiB: now, and the most it ever had.
    static func memory(of process: Int32) throws -> (now: Double, most: Double) {
        let lines = try proc(process, "status").split(separator: "\n")
        func mebibytes(_ name: String) throws -> Double {
            guard let line = lines.first(where: { $0.hasPrefix(name) }),
                let kibibytes = line.split(whereSeparator: \.isWhitespace).dropFirst().first,
                let number = Double(kibibytes)
            else { throw BenchFailure("/proc/\(process)/status has no \(name)") }
            return number / 1024
        }
        return (try mebibytes("VmRSS:"), try mebibytes("VmHWM:"))
    }

    private static func proc(_ process: Int32, _ name: String) throws -> String {
        do { return try String(contentsOfFile: "/proc/\(process)/\(name)", encoding: .utf8) } catch
        {
            throw BenchFailure(
                "/proc/\(process)/\(name) cannot be read: this needs Linux. \(error)")
        }
    }
}

/// Why something could not be measured.
struct BenchFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

extension [Double] {
    /// The middle one, or the mean of the two in the middle. Of nothing there is none.
    var median: Double {
        precondition(!isEmpty, "There is no median of nothing.")
        let sorted = sorted()
        return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2
    }
}

extension Double {
    /// Seconds as microseconds, for reading.
    var microseconds: String { String(format: "%.0f µs", self * 1e6) }
}

import Foundation

/// Processor time in seconds. Unlike wall-clock time, it hardly depends on how busy the machine is.
enum Effort {
    /// The processor time of this thread, in seconds.
    static var ofThisThread: Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    /// Returns the processor time of another process, user and system together, in seconds. The
    /// resolution is a kernel tick, 10 ms.
    ///
    /// - Throws: ``BenchFailure`` if there is no such process, or if the system has no /proc.
    static func of(process: Int32) throws -> Double {
        let text = try proc(process, "stat")
        // The program's name is in parentheses and may contain spaces.
        guard let end = text.lastIndex(of: ")") else { throw BenchFailure("/proc: \(text)") }
        let fields = text[text.index(after: end)...].split(separator: " ")
        // proc(5): utime is field 14, stime is field 15; the state after the name is field 3.
        guard fields.count > 13, let user = Double(fields[11]), let system = Double(fields[12])
        else { throw BenchFailure("/proc: \(text)") }
        return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    /// Returns the processor time of all running processes with a name, in seconds.
    static func ofAll(named name: String) throws -> Double {
        let processes = try FileManager.default.contentsOfDirectory(atPath: "/proc")
            .compactMap { Int32($0) }
        // A process may end while we look.
        return processes.reduce(0) { total, process in
            guard (try? proc(process, "comm")) == name + "\n" else { return total }
            return total + ((try? of(process: process)) ?? 0)
        }
    }

    /// Returns the resident memory of another process in MiB: the current value and the peak.
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

/// The reason why something could not be measured.
struct BenchFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

extension [Double] {
    /// The middle value, or the mean of the two middle values. The array must not be empty.
    var median: Double {
        precondition(!isEmpty, "An empty array has no median.")
        let sorted = sorted()
        return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2
    }
}

extension Double {
    /// This number of seconds as text, in microseconds.
    var microseconds: String { String(format: "%.0f µs", self * 1e6) }
}

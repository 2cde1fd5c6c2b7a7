/// A moment: milliseconds since 1970-01-01 UTC, as Apple's documents count.
package struct Instant: Hashable, Comparable, Sendable {
    package var milliseconds: Int64

    package init(milliseconds: Int64) { self.milliseconds = milliseconds }

    package static func < (one: Self, other: Self) -> Bool { one.milliseconds < other.milliseconds }

    /// The moment so much later, whole milliseconds counted.
    package static func + (instant: Self, duration: Duration) -> Self {
        Self(milliseconds: instant.milliseconds + duration.milliseconds)
    }

    package static func - (instant: Self, duration: Duration) -> Self {
        Self(milliseconds: instant.milliseconds - duration.milliseconds)
    }

    package static func - (later: Self, earlier: Self) -> Duration {
        .milliseconds(later.milliseconds - earlier.milliseconds)
    }
}

extension Duration {
    /// Whole milliseconds; what is left over is dropped. Not of `components`, which takes longer
    /// than all else that is asked of a timeline.
    fileprivate var milliseconds: Int64 { Int64(attoseconds / 1_000_000_000_000_000) }

    package static func hours(_ count: Int) -> Duration { .seconds(count * 3600) }
    package static func days(_ count: Int) -> Duration { .hours(count * 24) }
}

// MARK: - Text

extension Instant: CustomStringConvertible {
    /// RFC 3339 in UTC with milliseconds: `2026-11-21T08:30:00.000Z`.
    package var description: String {
        let (date, millisecondOfDay) = dateAndTime
        let second = millisecondOfDay / 1000
        var text = Digits()
        text.add(date)
        text.add("T", second / 3600, 2)
        text.add(":", second / 60 % 60, 2)
        text.add(":", second % 60, 2)
        text.add(".", millisecondOfDay % 1000, 3)
        text.add("Z")
        return text.string
    }

    /// To the minute, for sentences: `2026-11-21 08:30 UTC`.
    package var minute: String {
        let (date, millisecondOfDay) = dateAndTime
        let minute = millisecondOfDay / 60_000
        var text = Digits()
        text.add(date)
        text.add(" ", minute / 60, 2)
        text.add(":", minute % 60, 2)
        text.add(" UTC")
        return text.string
    }

    private var dateAndTime: (date: CivilDate, millisecondOfDay: Int64) {
        let (day, rest) = CivilDate.dayAndRest(of: milliseconds)
        return (CivilDate(dayNumber: day), rest)
    }

    /// Text put together byte by byte: an answer has a dozen times in it.
    private struct Digits {
        private var bytes: [UInt8] = []

        init() { bytes.reserveCapacity(32) }

        var string: String { String(decoding: bytes, as: UTF8.self) }

        mutating func add(_ date: CivilDate) {
            add("", date.year, 4)
            add("-", date.month, 2)
            add("-", date.day, 2)
        }

        mutating func add(_ text: StaticString) {
            bytes.append(
                contentsOf: UnsafeBufferPointer(
                    start: text.utf8Start, count: text.utf8CodeUnitCount))
        }

        /// Text, and a number with zeros before it up to a width.
        mutating func add(_ text: StaticString, _ number: Int64, _ width: Int) {
            add(text)
            if number < 0 { bytes.append(UInt8(ascii: "-")) }
            let first = bytes.count
            var rest = number.magnitude
            repeat {
                bytes.append(UInt8(ascii: "0") + UInt8(rest % 10))
                rest /= 10
            } while rest > 0 || bytes.count - first < width
            bytes[first...].reverse()
        }
    }
}

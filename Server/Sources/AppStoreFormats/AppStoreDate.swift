/// A moment in Apple's documents: milliseconds since 1970-01-01 UTC.
package struct AppStoreDate: Hashable, Comparable, Sendable, WireValue {
    package var milliseconds: Int64

    package init(milliseconds: Int64) { self.milliseconds = milliseconds }

    /// Reads whole milliseconds. Xcode writes fractional milliseconds, which are rounded down.
    package init?(json: JSON) {
        switch json {
        case .integer(let milliseconds): self.milliseconds = milliseconds
        case .decimal(let literal):
            guard let value = Double(literal), let whole = Int64(exactly: value.rounded(.down))
            else { return nil }
            milliseconds = whole
        default: return nil
        }
    }

    package var json: JSON { .integer(milliseconds) }
    package func write(to text: inout [UInt8]) { milliseconds.write(to: &text) }

    package static func < (one: Self, other: Self) -> Bool { one.milliseconds < other.milliseconds }
}

/// A position in an app's log: the number of an event, and the epoch of the log to which the event
/// belongs.
///
/// A restore from a backup begins a new epoch. The reason is that the log then continues to count
/// from the end of the backup, so a number alone could identify two events.
package struct LogPosition: Hashable, Sendable, CustomStringConvertible {
    /// The name of the epoch. Nil means the first epoch, before any restore.
    package var epoch: String?
    package var sequence: Int64

    /// The number of characters of an epoch's name: a small letter, followed by small letters and
    /// digits.
    package static let epochCharacters = 10
    /// The number of digits of the largest sequence number.
    private static let digitsMax = 19

    package init(_ epoch: String?, _ sequence: Int64) {
        self.epoch = epoch
        self.sequence = sequence
    }

    /// Parses a ``description``. Returns nil for any other text.
    package init?(_ text: String) {
        let parts = text.split(separator: "_", omittingEmptySubsequences: false)
        guard let digits = parts.last, digits.utf8.count <= Self.digitsMax,
            digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let sequence = Int64(digits)
        else { return nil }
        switch parts.count {
        case 1: epoch = nil
        case 2:
            guard Self.isEpoch(parts[0]) else { return nil }
            epoch = String(parts[0])
        default: return nil
        }
        self.sequence = sequence
    }

    private static func isEpoch(_ name: Substring) -> Bool {
        guard name.utf8.count == epochCharacters, let first = name.utf8.first else { return false }
        let isLetter = { (byte: UInt8) in (0x61...0x7a).contains(byte) }
        return isLetter(first)
            && name.utf8.allSatisfy { isLetter($0) || (0x30...0x39).contains($0) }
    }

    /// The position as text: `12` in the first epoch, `k3f9x2ab7c_12` in a later one.
    package var description: String { epoch.map { "\($0)_\(sequence)" } ?? "\(sequence)" }

    /// A random name for a new epoch. There are 26 × 36⁹ such names.
    package static func newEpoch(
        by random: inout some RandomNumberGenerator
    ) -> String {
        let letters = Array("abcdefghijklmnopqrstuvwxyz0123456789")
        let characters = (0..<epochCharacters).map { index in
            letters[Int.random(in: 0..<(index == 0 ? 26 : letters.count), using: &random)]
        }
        return String(characters)
    }
}

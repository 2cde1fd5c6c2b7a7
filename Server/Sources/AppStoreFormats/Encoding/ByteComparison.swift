import Foundation

// Searches and comparisons that use the C library, which processes many bytes at once.

extension [UInt8] {
    /// The index of the first occurrence of a byte at or after an offset.
    func firstIndex(of byte: UInt8, from offset: Int) -> Int? {
        withUnsafeBytes { buffer in
            guard offset < buffer.count, let start = buffer.baseAddress else { return nil }
            let found = memchr(start + offset, Int32(byte), buffer.count - offset)
            return found.map { UnsafeRawPointer($0) - start }
        }
    }

    /// Whether the bytes are equal. Returns the same as `==`, but is many times faster.
    package func isSame(as other: [UInt8]) -> Bool { self[...].isSame(as: other[...]) }
}

extension ArraySlice<UInt8> {
    /// Whether the bytes are equal. Returns the same as `==`, but is many times faster.
    package func isSame(as other: Self) -> Bool {
        guard count == other.count else { return false }
        return withUnsafeBytes { mine in
            other.withUnsafeBytes { others in
                guard let one = mine.baseAddress, let two = others.baseAddress else { return true }
                return memcmp(one, two, mine.count) == 0
            }
        }
    }
}

import Foundation

/// The part of a file that a request asks for (RFC 9110 §14), in the forms that Hummingbird reads
/// right: `bytes=from-` and `bytes=from-to`, of which the first byte is there. Whatever else is
/// asked for may be answered with the whole file, and is.
enum ContentRange {
    /// The header to go on with; nil for the whole file.
    static func understood(_ header: String, of path: String) -> String? {
        let attributes = try? FileManager.default.attributesOfItem(atPath: path)
        let size = (attributes?[.size] as? NSNumber)?.intValue ?? 0
        guard let match = header.wholeMatch(of: /bytes=(\d*)-(\d*)/) else { return nil }
        guard let first = Int(match.1) else {
            guard match.1.isEmpty, let count = Int(match.2), count > 0, size > 0 else { return nil }
            return "bytes=\(max(0, size - count))-"
        }
        guard first < size else { return nil }
        if match.2.isEmpty { return "bytes=\(first)-" }
        guard let last = Int(match.2), first <= last else { return nil }
        return "bytes=\(first)-\(min(last, size - 1))"
    }
}

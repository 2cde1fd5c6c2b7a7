import Foundation

/// Parses the range header of a request (RFC 9110 §14). Supports the forms that Hummingbird handles
/// correctly: `bytes=from-` and `bytes=from-to`, with a first byte that exists. For any other
/// range, the server sends the whole file, as the RFC permits.
enum ContentRange {
    /// Returns the range header to pass on, or nil to send the whole file.
    static func supported(_ header: String, of path: String) -> String? {
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

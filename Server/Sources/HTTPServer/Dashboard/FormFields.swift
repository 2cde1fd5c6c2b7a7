import Hummingbird

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The fields of a form or a query, as browsers encode them (WHATWG URL,
/// "application/x-www-form-urlencoded"). If several fields have the same name, the last one counts.
package struct FormFields: Sendable {
    private var fields: [String: String] = [:]

    package init(_ text: String) {
        for part in text.split(separator: "&") {
            let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = Self.decoded(pair[0]) else { continue }
            fields[name] = pair.count > 1 ? Self.decoded(pair[1]) : ""
        }
    }

    /// Returns nil if the field is missing or empty, because a browser sends every field of a form.
    package subscript(_ name: String) -> String? {
        fields[name].flatMap { $0.isEmpty ? nil : $0 }
    }

    /// The value without surrounding white space, which pasted text often has. Returns nil if
    /// nothing is left.
    package func trimmed(_ name: String) -> String? {
        guard let value = self[name] else { return nil }
        let rest = value.drop { $0.isWhitespace }
        guard let last = rest.lastIndex(where: { !$0.isWhitespace }) else { return nil }
        return String(rest[...last])
    }

    private static func decoded(_ text: Substring) -> String? {
        text.replacing("+", with: " ").removingPercentEncoding
    }
}

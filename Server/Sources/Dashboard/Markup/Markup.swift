import PerennialContract

/// HTML that is safe to send.
///
/// A value is made from literals in our source, and from text that is escaped when it is inserted.
/// A text from outside cannot become markup unescaped: literals are `StaticString`s, which cannot
/// be made at run time.
package struct Markup: Hashable, Sendable {
    package private(set) var html: String

    fileprivate init(trusted html: String) { self.html = html }

    package static let empty: Markup = ""

    package var isEmpty: Bool { html.isEmpty }

    /// Text as content or as the value of an attribute in quotes, for people to read.
    package init(text: String) {
        html = Self.escaped(VisibleText.encoded(text, keepsSpaces: true))
    }

    /// Text as the value of an attribute that is sent back to us or copied: no character is
    /// changed.
    package static func value(_ text: String) -> Markup { Markup(trusted: escaped(text)) }

    /// Text from outside, as content: isolated, so that its direction does not affect adjacent
    /// text. Not for attributes.
    package static func bdi(_ text: String) -> Markup {
        Markup(trusted: "<bdi>\(Markup(text: text).html)</bdi>")
    }

    /// A customer's id, as content. Each kind of space is shown by its number, too, because two ids
    /// may differ only in a kind of space.
    package static func id(_ id: String) -> Markup {
        Markup(trusted: "<bdi>\(escaped(VisibleText.encoded(id)))</bdi>")
    }

    /// This markup within other markup. Empty if this markup is empty.
    package func inside(_ outer: (Markup) -> Markup) -> Markup { isEmpty ? .empty : outer(self) }

    package static func + (one: Markup, other: Markup) -> Markup {
        Markup(trusted: one.html + other.html)
    }

    package static func += (one: inout Markup, other: Markup) { one.html += other.html }
}

extension Sequence where Element == Markup {
    package func joined(by separator: Markup = .empty) -> Markup {
        Markup(trusted: map(\.html).joined(separator: separator.html))
    }
}

// MARK: - Literals

extension Markup: ExpressibleByStringInterpolation {
    package init(stringLiteral value: StaticString) { html = value.description }

    package init(stringInterpolation: StringInterpolation) { html = stringInterpolation.html }

    package struct StringInterpolation: StringInterpolationProtocol {
        package typealias StringLiteralType = StaticString

        fileprivate var html = ""

        package init(literalCapacity: Int, interpolationCount: Int) {
            html.reserveCapacity(literalCapacity + 16 * interpolationCount)
        }

        package mutating func appendLiteral(_ literal: StaticString) {
            html += literal.description
        }

        package mutating func appendInterpolation(_ markup: Markup) { html += markup.html }

        /// Appends markup. Appends nothing for nil.
        package mutating func appendInterpolation(_ markup: Markup?) { html += markup?.html ?? "" }

        /// Appends text, escaped for people to read. Use ``Markup/bdi(_:)`` for text from outside
        /// where elements are allowed, and ``Markup/value(_:)`` where the text is sent back to us.
        ///
        /// This overload is disfavoured, so that a literal in an interpolation is markup, not text.
        @_disfavoredOverload
        package mutating func appendInterpolation(_ text: String) {
            html += Markup(text: text).html
        }

        /// Appends a number as digits, without separators.
        package mutating func appendInterpolation(_ number: Int) { html += String(number) }
    }
}

// MARK: - Escaping

extension Markup {
    /// Escapes scalar by scalar, not character by character: a browser recognises a quotation mark
    /// even if a combining mark follows it.
    fileprivate static func escaped(_ text: String) -> String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count + 16)
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "&"): bytes += Array("&amp;".utf8)
            case UInt8(ascii: "<"): bytes += Array("&lt;".utf8)
            case UInt8(ascii: ">"): bytes += Array("&gt;".utf8)
            case UInt8(ascii: "\""): bytes += Array("&quot;".utf8)
            case UInt8(ascii: "'"): bytes += Array("&#39;".utf8)
            case UInt8(ascii: "`"): bytes += Array("&#96;".utf8)
            // HTML does not allow the other control characters.
            case 0..<9, 11, 12, 14..<32, 127: bytes += Array("\u{FFFD}".utf8)
            default: bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

import Mustache
import PerennialContract

/// HTML that is safe to send.
///
/// A value is made from literals in our source, from templates, and from text that is escaped while
/// it goes in. A text from outside cannot become markup unescaped: literals are `StaticString`s,
/// which no program can make from a customer's id.
package struct Markup: Hashable, Sendable {
    package private(set) var html: String

    fileprivate init(trusted html: String) { self.html = html }

    package static let empty: Markup = ""

    package var isEmpty: Bool { html.isEmpty }

    /// Text as content or as the value of an attribute in quotes, for people to read.
    package init(text: String) {
        html = Self.escaped(VisibleText.encoded(text, keepsSpaces: true))
    }

    /// Text as the value of an attribute that comes back to us or is copied: nothing of it changes.
    package static func value(_ text: String) -> Markup { Markup(trusted: escaped(text)) }

    /// Text from outside, as content: isolated, so that its direction does not reach what stands
    /// beside it. Not for attributes.
    package static func bdi(_ text: String) -> Markup {
        Markup(trusted: "<bdi>\(Markup(text: text).html)</bdi>")
    }

    /// A customer's id, as content: also each kind of space has its number, because two ids may
    /// differ by nothing else.
    package static func id(_ id: String) -> Markup {
        Markup(trusted: "<bdi>\(escaped(VisibleText.encoded(id)))</bdi>")
    }

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

        /// Nothing for nil.
        package mutating func appendInterpolation(_ markup: Markup?) { html += markup?.html ?? "" }

        /// Escaped, for people to read. Text from outside belongs into ``Markup/bdi(_:)`` where
        /// elements can stand, and into ``Markup/value(_:)`` where it comes back to us.
        ///
        /// Disfavoured, so that a literal in an interpolation is markup, not text.
        @_disfavoredOverload
        package mutating func appendInterpolation(_ text: String) {
            html += Markup(text: text).html
        }

        /// Digits, without separators.
        package mutating func appendInterpolation(_ number: Int) { html += String(number) }
    }
}

// MARK: - Escaping

extension Markup {
    /// Scalar by scalar, not character by character: in `"` with a combining mark behind it, a
    /// browser still sees the quotation mark.
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
            // HTML has no place for the other control characters.
            case 0..<9, 11, 12, 14..<32, 127: bytes += Array("\u{FFFD}".utf8)
            default: bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

// MARK: - Templates

extension Markup: MustacheCustomRenderable {
    package var renderText: String { html }
    /// So that a section of a template is left out.
    package var isNull: Bool { isEmpty }
}

extension Markup: MustacheParent {
    package func child(named: String) -> Any? { nil }
}

extension Markup {
    /// What a template made of markup alone.
    init(rendered template: MustacheTemplate, _ fields: Fields, library: MustacheLibrary) {
        html = template.render(fields, library: library)
    }
}

/// What a template may show. It holds markup, flags and lists of fields and nothing else, so that
/// no template can show a text that was not escaped.
package struct Fields: MustacheParent, Sendable {
    private var children: [String: Field]

    package init(_ children: [String: Field]) { self.children = children }

    package func child(named name: String) -> Any? { children[name]?.content }

    package subscript(name: String) -> Field? {
        get { children[name] }
        set { children[name] = newValue }
    }
}

/// One name of a template.
package indirect enum Field: Sendable {
    case html(Markup)
    case flag(Bool)
    case list([Fields])

    fileprivate var content: Any {
        switch self {
        case .html(let markup): markup
        case .flag(let flag): flag
        case .list(let list): list
        }
    }
}

extension Field: ExpressibleByBooleanLiteral {
    package init(booleanLiteral value: Bool) { self = .flag(value) }
}

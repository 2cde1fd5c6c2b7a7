/// One text in one language, with its forms for numbers.
struct Phrase: Hashable, Sendable, ExpressibleByStringLiteral {
    /// The forms by plural category. Every phrase has `other`.
    let forms: [PluralCategory: String]

    init(stringLiteral value: String) { forms = [.other: value] }

    private init(forms: [PluralCategory: String]) { self.forms = forms }

    /// A phrase whose form depends on a number.
    static func plural(one: String, other: String) -> Phrase {
        Phrase(forms: [.one: one, .other: other])
    }

    /// A phrase with a number, in a language that has one form for all numbers.
    static func counted(_ other: String) -> Phrase { Phrase(forms: [.other: other]) }

    func form(_ category: PluralCategory) -> String { forms[category] ?? forms[.other] ?? "" }

    /// The text with its placeholders filled in. Placeholders inside the inserted values are not
    /// replaced.
    static func fill(_ text: String, _ values: [TextKey.Placeholder: String]) -> String {
        var result = ""
        var rest = text[...]
        while let open = rest.firstIndex(of: "{"), let close = rest[open...].firstIndex(of: "}") {
            let name = String(rest[rest.index(after: open)..<close])
            result += rest[..<open]
            result += TextKey.Placeholder(rawValue: name).flatMap { values[$0] } ?? ""
            rest = rest[rest.index(after: close)...]
        }
        return result + rest
    }
}

/// The plural categories that the SDK's languages use for whole numbers, according to Unicode's
/// CLDR.
///
/// French and Spanish have a third category, for whole millions. No phrase of the SDK needs it.
enum PluralCategory: Hashable, Sendable {
    case one, other
}

/// Text for people in which every character is visible: an invisible character is written as its
/// number, such as `[U+200B]`. So two different ids look different, and a person can type each id.
public struct VisibleText: Sendable {
    private init() {}

    /// The text with every invisible character as its number.
    ///
    /// - Parameter keepsSpaces: whether all kinds of spaces, tabs and line ends stay unchanged, for
    ///   prose.
    public static func encoded(_ text: String, keepsSpaces: Bool = false) -> String {
        guard !text.utf8.allSatisfy({ (0x20...0x7E).contains($0) && $0 != bracket }) else {
            return text
        }
        var visible = String.UnicodeScalarView()
        var last: Unicode.Scalar?
        let scalars = Array(text.unicodeScalars)
        for (index, scalar) in scalars.enumerated() {
            if isHidden(scalar, after: last, keepsSpaces)
                || beginsNumber(scalars[index...]) != nil
            {
                visible += "[U+\(String(scalar.value, radix: 16, uppercase: true))]".unicodeScalars
            } else {
                visible.append(scalar)
            }
            last = scalar
        }
        return String(visible)
    }

    /// The text with every number in brackets replaced by its character, the reverse of
    /// ``encoded(_:keepsSpaces:)``.
    public static func decoded(_ text: String) -> String {
        guard text.utf8.contains(bracket) else { return text }
        var decoded = String.UnicodeScalarView()
        var rest = Array(text.unicodeScalars)[...]
        while let scalar = rest.first {
            if let (number, count) = beginsNumber(rest) {
                decoded.append(number)
                rest = rest.dropFirst(count)
            } else {
                decoded.append(scalar)
                rest = rest.dropFirst()
            }
        }
        return String(decoded)
    }

    /// Whether a character cannot be seen, or is a space that looks like another space.
    public static func isInvisible(_ scalar: Unicode.Scalar) -> Bool {
        if (0x21...0x7E).contains(scalar.value) { return false }
        if scalar == " " { return false }
        switch scalar.properties.generalCategory {
        case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator,
            .paragraphSeparator, .spaceSeparator:
            return true
        default:
            // A Braille pattern without a dot is blank, but has the same category as patterns with
            // dots.
            return scalar.properties.isDefaultIgnorableCodePoint || scalar == "\u{2800}"
        }
    }

    // MARK: - Parts

    private static let bracket = UInt8(ascii: "[")
    /// The maximum number of digits of a character's number.
    private static let digitsMax = 6

    private static func isHidden(
        _ scalar: Unicode.Scalar, after last: Unicode.Scalar?, _ keepsSpaces: Bool
    ) -> Bool {
        guard isInvisible(scalar) else { return false }
        if keepsSpaces, scalar.properties.isWhitespace { return false }
        // After a character that is not ASCII, a joiner or a variation selector changes how that
        // character looks. So it counts as visible.
        let isJoiner = scalar == "\u{200C}" || scalar == "\u{200D}"
        let isVariation = (0xFE00...0xFE0F).contains(scalar.value)
        guard isJoiner || isVariation, let last else { return true }
        return last.isASCII || isInvisible(last) && !(0xFE00...0xFE0F).contains(last.value)
    }

    /// The character whose number in brackets begins here, and the length of the text from bracket
    /// to bracket in characters. Nil if no such number begins here.
    private static func beginsNumber(
        _ scalars: ArraySlice<Unicode.Scalar>
    ) -> (scalar: Unicode.Scalar, count: Int)? {
        guard scalars.starts(with: "[U+".unicodeScalars) else { return nil }
        let digits = scalars.dropFirst(3).prefix(digitsMax).prefix { $0 != "]" }
        let end = scalars.dropFirst(3 + digits.count)
        var text = String.UnicodeScalarView()
        text.append(contentsOf: digits)
        guard end.first == "]", let number = UInt32(String(text), radix: 16),
            digits.allSatisfy(\.properties.isASCIIHexDigit), let scalar = Unicode.Scalar(number)
        else { return nil }
        return (scalar, digits.count + 4)
    }
}

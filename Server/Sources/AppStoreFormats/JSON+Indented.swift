extension JSON {
    /// The value as UTF-8 text, with keys in their present order.
    ///
    /// - Parameter isIndented: whether to indent each level by two spaces, so that people can read
    ///   the text. Otherwise the text is one line.
    package func bytes(isIndented: Bool) -> [UInt8] {
        guard isIndented else { return bytes }
        var out: [UInt8] = []
        writeIndented(to: &out, depth: 0)
        return out
    }

    private func writeIndented(to out: inout [UInt8], depth: Int) {
        switch self {
        case .object(let members) where !members.isEmpty:
            Self.enclose(members, "{", "}", to: &out, depth: depth) { member, out in
                Self.write(string: member.key, to: &out)
                out.append(contentsOf: ": ".utf8)
                member.value.writeIndented(to: &out, depth: depth + 1)
            }
        case .array(let values) where !values.isEmpty:
            Self.enclose(values, "[", "]", to: &out, depth: depth) { value, out in
                value.writeIndented(to: &out, depth: depth + 1)
            }
        case .null, .bool, .integer, .decimal, .string, .array, .object: write(to: &out)
        }
    }

    private static func enclose<Part>(
        _ parts: [Part], _ open: String, _ close: String, to out: inout [UInt8], depth: Int,
        _ write: (Part, inout [UInt8]) -> Void
    ) {
        out.append(contentsOf: open.utf8)
        for (index, part) in parts.enumerated() {
            if index > 0 { out.append(UInt8(ascii: ",")) }
            newLine(to: &out, depth: depth + 1)
            write(part, &out)
        }
        newLine(to: &out, depth: depth)
        out.append(contentsOf: close.utf8)
    }

    private static func newLine(to out: inout [UInt8], depth: Int) {
        out.append(UInt8(ascii: "\n"))
        out.append(contentsOf: repeatElement(UInt8(ascii: " "), count: 2 * depth))
    }
}

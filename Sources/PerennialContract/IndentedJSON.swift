/// Indents JSON for people: two spaces for each level. The values and their order stay the same.
enum IndentedJSON {
    static func bytes(of json: some Sequence<UInt8>) -> [UInt8] {
        var indenter = Indenter()
        for byte in json { indenter.add(byte) }
        return indenter.out
    }

    private struct Indenter {
        var out: [UInt8] = []
        private var depth = 0
        private var isInText = false
        private var isEscaped = false
        /// Whether a bracket was opened and no value has followed yet. This property is needed
        /// because an empty object or array stays on one line.
        private var isOpen = false

        mutating func add(_ byte: UInt8) {
            if isInText { return addText(byte) }
            switch byte {
            case UInt8(ascii: " "), UInt8(ascii: "\n"), UInt8(ascii: "\r"), UInt8(ascii: "\t"):
                break
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                begin()
                out.append(byte)
                depth += 1
                isOpen = true
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth = max(0, depth - 1)
                if !isOpen { newLine() }
                isOpen = false
                out.append(byte)
            case UInt8(ascii: ","):
                out.append(byte)
                newLine()
            case UInt8(ascii: ":"): out += [byte, UInt8(ascii: " ")]
            default:
                begin()
                isInText = byte == UInt8(ascii: "\"")
                out.append(byte)
            }
        }

        private mutating func addText(_ byte: UInt8) {
            out.append(byte)
            if isEscaped {
                isEscaped = false
            } else if byte == UInt8(ascii: "\\") {
                isEscaped = true
            } else if byte == UInt8(ascii: "\"") {
                isInText = false
            }
        }

        /// Writes the line break before the first value within a bracket.
        private mutating func begin() {
            if isOpen { newLine() }
            isOpen = false
        }

        private mutating func newLine() {
            out.append(UInt8(ascii: "\n"))
            out.append(contentsOf: repeatElement(UInt8(ascii: " "), count: 2 * depth))
        }
    }
}

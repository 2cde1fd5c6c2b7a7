/// Makes files with the same receipt that differ only in unsigned parts (RFC 2315, 9.1).
package enum ReceiptVariants {
    /// Returns files with additional algorithms, with a repeated certificate, and with the
    /// certificates in reverse order.
    package static func files(of file: [UInt8]) -> [[UInt8]] {
        let outer = elements(content(file))
        let signed = elements(content(content(outer[1])))
        guard signed.count == 5 else { return [] }
        let algorithms = elements(content(signed[1]))
        let certificates = elements(content(signed[3]))
        func changed(_ number: Int, _ parts: [[UInt8]]) -> [UInt8] {
            var inner = signed
            inner[number] = element(signed[number][0], parts.flatMap(\.self))
            let whole = element(0x30, inner.flatMap(\.self))
            return element(0x30, outer[0] + element(outer[1][0], whole))
        }
        return [
            changed(1, algorithms + algorithms),
            changed(1, algorithms + [element(0x30, [0x05, 0x00])]),
            changed(3, certificates + [certificates[0]]), changed(3, certificates.reversed()),
        ]
    }

    /// Returns the file with an additional, invalid certificate of this number of bytes.
    package static func padded(_ file: [UInt8], by count: Int) -> [UInt8] {
        let outer = elements(content(file))
        var signed = elements(content(content(outer[1])))
        let filler = element(0x30, [UInt8](repeating: 0, count: count))
        signed[3] = element(signed[3][0], content(signed[3]) + filler)
        let inner = element(0x30, signed.flatMap(\.self))
        return element(0x30, outer[0] + element(outer[1][0], inner))
    }

    private static func header(_ element: [UInt8]) -> (start: Int, length: Int) {
        let first = Int(element[1])
        guard first >= 0x80 else { return (2, first) }
        let count = first & 0x7F
        return (2 + count, element[2..<(2 + count)].reduce(0) { $0 << 8 | Int($1) })
    }

    private static func content(_ element: [UInt8]) -> [UInt8] {
        let (start, length) = header(element)
        return Array(element[start..<start + length])
    }

    private static func elements(_ bytes: [UInt8]) -> [[UInt8]] {
        var rest = bytes
        var elements: [[UInt8]] = []
        while !rest.isEmpty {
            let (start, length) = header(rest)
            elements.append(Array(rest[..<(start + length)]))
            rest = Array(rest[(start + length)...])
        }
        return elements
    }

    private static func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        let count = content.count
        if count < 0x80 { return [tag, UInt8(count)] + content }
        let length = (0..<8).map { UInt8(truncatingIfNeeded: count >> (56 - 8 * $0)) }
            .drop { $0 == 0 }
        return [tag, 0x80 | UInt8(length.count)] + length + content
    }
}

/// Parses the body of an HTTP/1.1 answer from bytes in pieces of any size. The body ends with the
/// connection, or is in chunks (RFC 9112, section 7.1).
struct ResponseBody: Sendable {
    /// The maximum size in bytes of the head of an answer, and of a line between chunks.
    static let lineBytesMax = 65_536

    private enum Place {
        case statusLine
        case header
        case endless
        case chunkSize
        case chunk(left: Int)
        case chunkEnd
        case over
    }

    private var place = Place.statusLine
    private var line: [UInt8] = []
    private var isFine = false
    private var isChunked = false

    /// Whether the body is complete.
    var isOver: Bool { if case .over = place { true } else { false } }

    /// Parses further bytes. Returns the pieces that are complete after these bytes. For an answer
    /// other than 200, returns no pieces.
    mutating func pieces(in bytes: ArraySlice<UInt8>) -> [EventStream.Piece] {
        var (pieces, rest): ([EventStream.Piece], ArraySlice<UInt8>) = ([], bytes)
        while !rest.isEmpty {
            switch place {
            case .over: return pieces
            case .endless:
                pieces.append(.bytes(Data(rest)))
                return pieces
            case .chunk(let left):
                let part = rest.prefix(left)
                pieces.append(.bytes(Data(part)))
                rest = rest.dropFirst(part.count)
                place = part.count == left ? .chunkEnd : .chunk(left: left - part.count)
            case .statusLine, .header, .chunkSize, .chunkEnd:
                guard let text = nextLine(&rest) else { continue }
                if let piece = interpret(text) { pieces.append(piece) }
            }
        }
        return pieces
    }

    /// Removes and returns the next complete line. Nil if the line is not complete yet.
    private mutating func nextLine(_ rest: inout ArraySlice<UInt8>) -> String? {
        let part = rest.prefix { $0 != UInt8(ascii: "\n") }
        line += part
        rest = rest.dropFirst(part.count + 1)
        guard part.endIndex < rest.startIndex else {
            if line.count > Self.lineBytesMax { place = .over }
            return nil
        }
        defer { line = [] }
        if line.last == UInt8(ascii: "\r") { line.removeLast() }
        return String(decoding: line, as: UTF8.self)
    }

    private mutating func interpret(_ text: String) -> EventStream.Piece? {
        switch place {
        case .statusLine:
            isFine = text.split(separator: " ").dropFirst().first == "200"
            place = .header
        case .header:
            let field = text.lowercased()
            if field.hasPrefix("transfer-encoding:") { isChunked = field.contains("chunked") }
            guard text.isEmpty else { return nil }
            place = isFine ? (isChunked ? .chunkSize : .endless) : .over
            return isFine ? .opened : nil
        case .chunkSize:
            let size = Int(
                text.prefix { $0 != ";" }.trimmingCharacters(in: .whitespaces), radix: 16)
            place = size.map { $0 > 0 ? .chunk(left: $0) : .over } ?? .over
        case .chunkEnd: place = .chunkSize
        case .endless, .chunk, .over: break
        }
        return nil
    }
}

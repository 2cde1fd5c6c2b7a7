/// A compact representation of a signed document. A notification is a JWS that contains two others.
/// Each of the three has the same certificates in its header, and base64 within base64 makes the
/// two inner JWS a third longer. Packing stores each header once, separately, and refers to it by a
/// number; payloads and signatures are stored as the bytes that they encode.
///
/// Packing is lossless: `unpacked` returns exactly the original bytes. Only text that ``Base64``
/// decodes is replaced, and each value has only one such text; everything else is stored unchanged.
///
/// Format: a list of parts, each a tag byte and its content. Tag 0: a length, and literal bytes of
/// that length. Tag 1: the number of a header in `headers`. Tag 2: a length, and bytes of that
/// length, which are again a list of parts. The document contains the expansion of that list in
/// base64url. Lengths and numbers are little-endian base 128.
package struct PackedDocument: Hashable, Sendable {
    package var parts: [UInt8]
    /// The extracted header segments as received (base64url), in the order of their numbers.
    package var headers: [[UInt8]]

    /// The maximum nesting of JWS within JWS. Apple nests two deep.
    fileprivate static let nestingMax = 3
    /// The maximum number of different headers in one document. Apple's documents have one or two.
    /// The limit is small, because headers are searched for linearly.
    package static let headersMax = 16

    package init(parts: [UInt8], headers: [[UInt8]]) {
        self.parts = parts
        self.headers = headers
    }

    package init(packing bytes: [UInt8]) {
        var packer = Packer()
        parts = packer.pack(bytes, depth: 0)
        headers = packer.headers
    }

    /// The original document. Returns nil if the parts are damaged.
    package var unpacked: [UInt8]? { expand(parts[...], depth: 0) }
}

private struct Packer {
    var headers: [[UInt8]] = []
    private var out: [UInt8] = []

    static func literal(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        var packer = Packer()
        packer.append(literal: bytes)
        return packer.out
    }

    private mutating func append(literal bytes: ArraySlice<UInt8>) {
        guard !bytes.isEmpty else { return }
        out.append(0)
        append(number: bytes.count)
        out.append(contentsOf: bytes)
    }

    private mutating func append(number: Int) {
        var rest = number
        while rest >= 128 {
            out.append(UInt8(rest & 127) | 128)
            rest >>= 7
        }
        out.append(UInt8(rest))
    }

    /// Packs text that may be a JWS, or that contains JWS in quotes. Each JWS begins with `eyJ`
    /// (`{"` in base64).
    mutating func pack(_ bytes: [UInt8], depth: Int) -> [UInt8] {
        let outer = out
        out = []
        out.reserveCapacity(bytes.count)
        var literalStart = 0
        var start: Int? = 0
        while depth < PackedDocument.nestingMax, let from = start {
            let quote = bytes.firstIndex(of: UInt8(ascii: "\""), from: from)
            start = quote.map { $0 + 1 }
            let text = bytes[from..<(quote ?? bytes.count)]
            guard text.starts(with: Self.tokenStart), let token = token(text) else { continue }
            append(literal: bytes[literalStart..<from])
            append(token, depth: depth)
            literalStart = text.endIndex
        }
        append(literal: bytes[literalStart...])
        defer { out = outer }
        return out
    }

    private static let tokenStart = Array("eyJ".utf8)

    private struct Token {
        var header: Int
        var payload: [UInt8]
        var signature: [UInt8]
    }

    /// Packs one JWS. Returns nil if the text is not a JWS in canonical base64url.
    private mutating func token(_ text: ArraySlice<UInt8>) -> Token? {
        guard let jws = CompactJWS(Array(text)), let payload = jws.payload,
            let signature = jws.signature
        else { return nil }
        let number = headers.firstIndex { $0[...].isSame(as: jws.headerSegment) } ?? headers.count
        guard number < PackedDocument.headersMax else { return nil }
        if number == headers.count { headers.append(Array(jws.headerSegment)) }
        return Token(header: number, payload: payload, signature: signature)
    }

    private mutating func append(_ token: Token, depth: Int) {
        let dot = [UInt8(ascii: ".")]
        out.append(1)
        append(number: token.header)
        append(literal: dot[...])
        append(nested: pack(token.payload, depth: depth + 1))
        append(literal: dot[...])
        append(nested: Self.literal(token.signature[...]))
    }

    private mutating func append(nested parts: [UInt8]) {
        out.append(2)
        append(number: parts.count)
        out.append(contentsOf: parts)
    }
}

extension PackedDocument {
    private func expand(_ parts: ArraySlice<UInt8>, depth: Int) -> [UInt8]? {
        guard depth <= Self.nestingMax + 1 else { return nil }
        var out: [UInt8] = []
        var rest = parts
        while let tag = rest.popFirst() {
            guard let number = Self.varint(&rest) else { return nil }
            if tag == 1 {
                guard headers.indices.contains(number) else { return nil }
                out += headers[number]
                continue
            }
            guard number <= rest.count else { return nil }
            let content = rest.prefix(number)
            rest = rest.dropFirst(number)
            switch tag {
            case 0: out += content
            case 2:
                guard let inner = expand(content, depth: depth + 1) else { return nil }
                out += Base64.url.encode(inner)
            default: return nil
            }
        }
        return out
    }

    private static func varint(_ bytes: inout ArraySlice<UInt8>) -> Int? {
        var value = 0
        for shift in stride(from: 0, to: 35, by: 7) {
            guard let byte = bytes.popFirst() else { return nil }
            value |= Int(byte & 127) << shift
            if byte < 128 { return value }
        }
        return nil
    }
}

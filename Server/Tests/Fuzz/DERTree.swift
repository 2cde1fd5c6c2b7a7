import Dice

/// ASN.1 as a tree of nested elements, parsed as deeply as the bytes allow. After a change to one
/// element, all lengths around it are corrected.
struct DERTree {
    private indirect enum Node {
        case plain(tag: UInt8, content: [UInt8])
        /// An element that contains others, or an octet string that contains elements.
        case tree(tag: UInt8, nodes: [Node])
        /// Bytes that are not parsed further.
        case raw([UInt8])
    }

    private var nodes: [Node]
    private static let depthMax = 12
    private static let tags: [UInt8] = [
        0x02, 0x04, 0x05, 0x06, 0x0C, 0x16, 0x17, 0x18, 0x24, 0x30, 0x31, 0xA0, 0x80, 0x1F,
    ]

    init(_ bytes: [UInt8]) {
        nodes = Self.nodes(in: bytes[...], depth: 0) ?? [.raw(bytes)]
    }

    var bytes: [UInt8] {
        var out: [UInt8] = []
        for node in nodes { Self.write(node, to: &out) }
        return out
    }

    // MARK: - Reading

    private static func nodes(in bytes: ArraySlice<UInt8>, depth: Int) -> [Node]? {
        var rest = bytes
        var nodes: [Node] = []
        while let tag = rest.popFirst() {
            guard let length = length(removingFrom: &rest), length <= rest.count else {
                return nil
            }
            let content = rest.prefix(length)
            rest = rest.dropFirst(length)
            let mayHold = tag & 0x20 != 0 || tag == 0x04
            if mayHold, depth < depthMax, length > 1,
                let within = self.nodes(
                    in: content, depth: depth + 1)
            {
                nodes.append(.tree(tag: tag, nodes: within))
            } else {
                nodes.append(.plain(tag: tag, content: Array(content)))
            }
        }
        return nodes
    }

    private static func length(removingFrom bytes: inout ArraySlice<UInt8>) -> Int? {
        guard let first = bytes.popFirst() else { return nil }
        guard first >= 0x80 else { return Int(first) }
        let count = Int(first & 0x7F)
        guard (1...4).contains(count), bytes.count >= count else { return nil }
        let length = bytes.prefix(count).reduce(0) { $0 << 8 | Int($1) }
        bytes = bytes.dropFirst(count)
        return length
    }

    // MARK: - Writing

    private static func write(_ node: Node, to out: inout [UInt8]) {
        switch node {
        case .raw(let bytes): out += bytes
        case .plain(let tag, let content):
            out.append(tag)
            write(length: content.count, to: &out)
            out += content
        case .tree(let tag, let nodes):
            var content: [UInt8] = []
            for node in nodes { write(node, to: &content) }
            out.append(tag)
            write(length: content.count, to: &out)
            out += content
        }
    }

    private static func write(length: Int, to out: inout [UInt8]) {
        guard length >= 0x80 else { return out.append(UInt8(length)) }
        var digits: [UInt8] = []
        var rest = length
        while rest > 0 {
            digits.insert(UInt8(rest & 0xFF), at: 0)
            rest >>= 8
        }
        out.append(0x80 | UInt8(digits.count))
        out += digits
    }

    // MARK: - Damage

    mutating func damage(_ dice: inout Dice) { Self.damage(&nodes, &dice) }

    private static func damage(_ nodes: inout [Node], _ dice: inout Dice) {
        guard let place = nodes.indices.randomElement(using: &dice) else {
            nodes.append(.plain(tag: 0x04, content: [0xFF]))
            return
        }
        if case .tree(let tag, var within) = nodes[place],
            Int.random(in: 0..<5, using: &dice) > 0
        {
            damage(&within, &dice)
            nodes[place] = .tree(tag: tag, nodes: within)
            return
        }
        switch Int.random(in: 0..<9, using: &dice) {
        case 0: nodes.remove(at: place)
        case 1: nodes.insert(nodes[place], at: place)
        case 2: nodes.swapAt(place, Int.random(in: nodes.indices, using: &dice))
        case 3: nodes[place] = .tree(tag: 0x30, nodes: [nodes[place]])
        case 4: nodes += Array(repeating: nodes[place], count: dice.times())
        case 5: nodes[place] = .raw(lying(nodes[place], &dice))
        default: nodes[place] = changed(nodes[place], &dice)
        }
    }

    private static func changed(_ node: Node, _ dice: inout Dice) -> Node {
        let tag = tags.randomElement(using: &dice) ?? 0
        switch node {
        case .raw(let bytes): return .raw(dice.damaged(bytes, marks: tags))
        case .tree(_, let nodes): return .tree(tag: tag, nodes: nodes)
        case .plain(let old, let content):
            switch Int.random(in: 0..<4, using: &dice) {
            case 0: return .plain(tag: tag, content: content)
            case 1: return .plain(tag: old, content: [])
            case 2: return .plain(tag: old, content: [UInt8](repeating: 0xFF, count: 40))
            default: return .plain(tag: old, content: dice.damaged(content, marks: tags))
            }
        }
    }

    /// An element with a wrong length.
    private static func lying(_ node: Node, _ dice: inout Dice) -> [UInt8] {
        var bytes: [UInt8] = []
        write(node, to: &bytes)
        let lengths: [[UInt8]] = [
            [0x80], [0x84, 0x7F, 0xFF, 0xFF, 0xFF], [0x88] + [UInt8](repeating: 0xFF, count: 8),
            [0x81, 0x01], [0x00], [0xFF],
        ]
        guard bytes.count > 1 else { return bytes }
        bytes.replaceSubrange(1..<2, with: lengths.randomElement(using: &dice) ?? [])
        return bytes
    }
}

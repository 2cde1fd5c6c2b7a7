import Engine
import Foundation
import Ledger
import Yams

extension ConfigurationReader {
    /// The members of a mapping; a key that is not known is complained of, with the one that may
    /// have been meant.
    mutating func members(
        of node: Node, known: [String], in place: String
    ) -> [String: Node] {
        guard let mapping = node.mapping else {
            complain(node, "\(place) is no mapping.", "Write `key: value` lines under it.")
            return [:]
        }
        var members: [String: Node] = [:]
        for (key, value) in mapping {
            guard let name = key.scalar?.string, known.contains(name) else {
                let name = key.scalar?.string ?? "?"
                complain(
                    key, "There is no “\(name)” in \(place).",
                    Spelling.remedy(
                        for: name, among: known,
                        else: "There are \(known.joined(separator: ", "))."))
                continue
            }
            members[name] = value
        }
        return members
    }

    /// Any scalar as it is written: what looks like a number can be a name.
    func text(_ node: Node) -> String? { node.scalar?.string }

    /// What stands in the file that is named; nil where it is not there, or is not UTF-8.
    func textOfFile(_ node: Node) -> String? {
        text(node).flatMap(file).flatMap { String(bytes: $0, encoding: .utf8) }
    }

    /// What the variable holds that is named; nil where it is not there.
    func textOfVariable(_ node: Node) -> String? { text(node).flatMap { environment[$0] } }

    mutating func bool(_ node: Node) -> Bool? {
        switch text(node) {
        case "true": return true
        case "false": return false
        default:
            complain(node, "“\(text(node) ?? "…")” is neither true nor false.", "Write one.")
            return nil
        }
    }

    mutating func number(_ node: Node) -> Int64? {
        if let number = text(node).flatMap({ Int64($0) }), number >= 0 { return number }
        complain(node, "“\(text(node) ?? "…")” is no number.", "Write digits only.")
        return nil
    }

    /// A member that is a number within a range. Nil where it is not there, or is complained of.
    mutating func number(
        _ key: String, _ members: [String: Node], in range: ClosedRange<Int>
    ) -> Int? {
        guard let node = members[key], let count = number(node) else { return nil }
        if let count = Int(exactly: count), range.contains(count) { return count }
        complain(
            node, "\(key) is out of range.",
            "Choose \(range.lowerBound) to \(range.upperBound).")
        return nil
    }

    /// One of an enumeration's words.
    ///
    /// - Parameter what: what any other word is, such as “no overlap”.
    mutating func word<Word: RawRepresentable & CaseIterable>(
        _ node: Node, _: Word.Type, _ what: String
    ) -> Word? where Word.RawValue == String {
        if let word = text(node).flatMap(Word.init(rawValue:)) { return word }
        let known = Word.allCases.map(\.rawValue).joined(separator: ", ")
        complain(node, "“\(text(node) ?? "…")” is \(what).", "Write one of \(known).")
        return nil
    }

    /// A list of names, or one name by itself.
    mutating func names(_ node: Node, of key: String) -> [String] {
        if let name = text(node), !name.isEmpty { return [name] }
        guard let nodes = node.sequence else {
            complain(node, "\(key) is no list of names.", "Write `[a, b]`.")
            return []
        }
        return nodes.compactMap { node in
            if let name = text(node), !name.isEmpty { return name }
            complain(node, "Here a name is expected.", "Write `[a, b]`.")
            return nil
        }
    }

    mutating func rules(_ node: Node) -> AccessRules {
        let members = members(of: node, known: ["unconfirmed_hold_hours"], in: "access")
        guard let hours = number("unconfirmed_hold_hours", members, in: Self.holdHoursRange) else {
            return AccessRules()
        }
        return AccessRules(unconfirmedHold: .hours(hours))
    }

    /// Roots beside Apple's. Only a simulated app may have them: for any other they would let
    /// somebody else than Apple vouch for purchases.
    mutating func read(trust node: Node, into app: inout AppConfiguration) {
        let members = members(of: node, known: ["extra_roots"], in: "trust")
        guard let roots = members["extra_roots"] else { return }
        guard app.settings.isSimulated else {
            complain(
                roots, "App \(app.settings.id) is not simulated and trusts Apple only.",
                "Leave extra_roots out, or say `simulated: true`.")
            return
        }
        for path in names(roots, of: "extra_roots") {
            if let bytes = file(path) {
                app.extraRoots.append(bytes)
            } else {
                complain(
                    roots, "\(path) cannot be read.", "Name it relative to this file's folder.")
            }
        }
    }

    mutating func settings(_ node: Node) -> [String: String] {
        let members = members(of: node, known: Settings.fileKeys, in: "settings")
        return members.compactMapValues { text($0) }
    }

    mutating func complain(_ node: Node?, _ message: String, _ remedy: String) {
        complaints.append(Complaint(line: node?.mark?.line, message: message, remedy: remedy))
    }

    mutating func warn(_ node: Node?, _ message: String, _ remedy: String) {
        warnings.append(Complaint(line: node?.mark?.line, message: message, remedy: remedy))
    }
}

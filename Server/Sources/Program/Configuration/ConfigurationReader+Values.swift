import Engine
import Foundation
import Ledger
import Yams

extension ConfigurationReader {
    /// Reads a mapping by its keys, in their order. Reports an unknown key as a complaint.
    ///
    /// - Returns: the values in the mapping, for rules about several keys.
    @discardableResult
    mutating func read<Target>(
        _ node: Node, _ keys: [Key<Target>], into target: inout Target, in place: String
    ) -> [String: Node] {
        let members = members(of: node, known: keys.map(\.name), in: place)
        for key in keys {
            if let value = members[key.name] { key.read(&self, value, &target) }
        }
        return members
    }

    /// Returns the members of a mapping. Reports an unknown key as a complaint, with the most
    /// similar known key.
    mutating func members(
        of node: Node, known: [String], in place: String
    ) -> [String: Node] {
        guard let mapping = node.mapping else {
            complain(node, "\(place) must be a mapping.", "Write `key: value` lines under it.")
            return [:]
        }
        var members: [String: Node] = [:]
        for (key, value) in mapping {
            guard let name = key.scalar?.string, known.contains(name) else {
                let name = key.scalar?.string ?? "?"
                complain(
                    key, "“\(name)” is unknown in \(place).",
                    Spelling.remedy(
                        for: name, among: known,
                        else: "Use one of \(known.joined(separator: ", "))."))
                continue
            }
            members[name] = value
        }
        return members
    }

    /// Returns any scalar as it is written. Something that looks like a number can be a name.
    func text(_ node: Node) -> String? { node.scalar?.string }

    func nonEmptyText(_ node: Node) -> String? { text(node).flatMap { $0.isEmpty ? nil : $0 } }

    /// Returns the contents of the named file. Nil if the file does not exist or is not UTF-8.
    func textOfFile(_ node: Node) -> String? {
        text(node).flatMap(file).flatMap { String(bytes: $0, encoding: .utf8) }
    }

    /// Returns the value of the named environment variable. Nil if the variable is not set.
    func textOfVariable(_ node: Node) -> String? { text(node).flatMap(variable) }

    /// A text that the configuration does not contain itself, such as a secret.
    struct HiddenText {
        /// The value of the key that names the file or the variable.
        var node: Node
        var isInFile: Bool
        /// Without white space at its ends. Empty if there is no such file or variable.
        var text: String
    }

    /// Reads the file that the key `NAME_file` names, or the environment variable that `NAME_env`
    /// names. Reports as a complaint if both keys are set.
    ///
    /// - Returns: nil if neither key is set.
    mutating func hidden(_ name: String, in members: [String: Node]) -> HiddenText? {
        let (file, variable) = (members["\(name)_file"], members["\(name)_env"])
        guard let node = file ?? variable else { return nil }
        if file != nil, variable != nil {
            complain(
                node, "\(name)_file and \(name)_env are both set.", "Leave out one of them.")
        }
        let found = file == nil ? textOfVariable(node) : textOfFile(node)
        return HiddenText(
            node: node, isInFile: file != nil,
            text: found?.trimmingCharacters(in: .whitespacesAndNewlines) ?? "")
    }

    /// Reads a value of the header `Authorization`. Returns nil if no key names one, or if it is
    /// not valid, which is a complaint.
    mutating func authorization(in members: [String: Node], bytesMax: Int) -> String? {
        guard let found = hidden("authorization", in: members) else { return nil }
        let isPlain = found.text.utf8.allSatisfy { (0x20...0x7E).contains($0) }
        if isPlain, (1...bytesMax).contains(found.text.utf8.count) { return found.text }
        complain(
            found.node,
            "“\(text(found.node) ?? "…")” contains no valid value of the header Authorization.",
            "Name a file or a variable with the whole value in one line, such as `Bearer …`.")
        return nil
    }

    mutating func bool(_ node: Node) -> Bool? {
        switch text(node) {
        case "true": return true
        case "false": return false
        default:
            complain(
                node, "“\(text(node) ?? "…")” is neither true nor false.", "Write true or false.")
            return nil
        }
    }

    mutating func number(_ node: Node) -> Int64? {
        if let number = text(node).flatMap({ Int64($0) }), number >= 0 { return number }
        complain(node, "“\(text(node) ?? "…")” is not a whole number.", "Use digits only.")
        return nil
    }

    /// Returns a number in a range. Anything else is reported as a complaint about the key.
    mutating func number(_ node: Node, in range: ClosedRange<Int>, of key: String) -> Int? {
        guard let count = number(node) else { return nil }
        if let count = Int(exactly: count), range.contains(count) { return count }
        complain(
            node, "\(key) is out of range.",
            "Use a number from \(range.lowerBound) to \(range.upperBound).")
        return nil
    }

    /// Returns a case of an enumeration by its word.
    ///
    /// - Parameter what: how to describe any other word, such as “not an overlap rule”.
    mutating func word<Word: RawRepresentable & CaseIterable>(
        _ node: Node, _ what: String
    ) -> Word? where Word.RawValue == String {
        if let word = text(node).flatMap(Word.init(rawValue:)) { return word }
        let known = Word.allCases.map(\.rawValue).joined(separator: ", ")
        complain(node, "“\(text(node) ?? "…")” is \(what).", "Use one of \(known).")
        return nil
    }

    /// Returns the value of one of some words.
    mutating func word<Value>(_ node: Node, _ known: [String: Value]) -> Value? {
        if let value = text(node).flatMap({ known[$0] }) { return value }
        complain(
            node, "“\(text(node) ?? "…")” is not a known value.",
            "Use one of \(known.keys.sorted().joined(separator: ", ")).")
        return nil
    }

    /// Returns a list of names. A single name counts as a list of one.
    mutating func names(_ node: Node, of key: String) -> [String] {
        if let name = nonEmptyText(node) { return [name] }
        guard let nodes = node.sequence else {
            complain(node, "\(key) must be a list of names.", "Write `[a, b]`.")
            return []
        }
        return nodes.compactMap { node in
            if let name = nonEmptyText(node) { return name }
            complain(node, "A name is expected here.", "Write `[a, b]`.")
            return nil
        }
    }

    static let trustKeys = ["extra_roots"]

    /// Reads the root certificates that are trusted in addition to Apple's. Only simulated apps may
    /// have additional roots: for other apps, somebody other than Apple could then sign purchases.
    mutating func read(trust node: Node, into app: inout AppConfiguration) {
        guard let roots = members(of: node, known: Self.trustKeys, in: "trust")["extra_roots"]
        else { return }
        guard app.settings.isSimulated else {
            complain(
                roots, "App \(app.settings.id) is not simulated, so it can only trust Apple.",
                "Leave out extra_roots, or set `simulated: true`.")
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
        let members = members(of: node, known: ProcessSettings.fileKeys, in: "settings")
        return members.compactMapValues { text($0) }
    }

    mutating func complain(_ node: Node?, _ message: String, _ remedy: String) {
        complaints.append(
            ConfigurationProblem(line: node?.mark?.line, message: message, remedy: remedy))
    }

    mutating func warn(_ node: Node?, _ message: String, _ remedy: String) {
        warnings.append(
            ConfigurationProblem(line: node?.mark?.line, message: message, remedy: remedy))
    }
}

import Engine
import Ledger
import Yams

/// Parses the environments in which claims on seats are reported to the App Store.
extension ConfigurationReader {
    static let seatKeys: [Key<Set<Ledger.Environment>>] = [
        Key("tell_apple", \.self) { $0.environments($1, of: "tell_apple") }
    ]

    /// Reads a list of environments, which may be empty.
    private mutating func environments(
        _ node: Node, of key: String
    ) -> Set<Ledger.Environment>? {
        var found: Set<Ledger.Environment> = []
        for name in names(node, of: key) {
            guard let environment = Ledger.Environment(rawValue: name) else {
                complain(
                    node, "“\(name)” is not an environment.",
                    "Write `\(key): [sandbox]`, `[production, sandbox]`, or `[]` for none.")
                return nil
            }
            found.insert(environment)
        }
        if found.contains(.production) {
            warn(
                node, "Apple accepts reports about seats in the sandbox only.",
                "Leave out production until Apple accepts reports there. "
                    + "Claims work without reports.")
        }
        return found
    }
}

extension AppSettings {
    var seatLines: [String] {
        guard seatReports != Self.seatReportsDefault else { return [] }
        guard !seatReports.isEmpty else { return ["no seats are reported to Apple"] }
        let names = seatReports.map(\.rawValue).sorted().joined(separator: " and ")
        return ["seats in \(names) are reported to Apple"]
    }
}

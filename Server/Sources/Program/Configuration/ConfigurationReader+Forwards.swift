import Engine
import Ledger
import Yams

extension ConfigurationReader {
    /// The maximum number of forwarding addresses per app.
    static let forwardsMax = 20
    private static let urlCharactersMax = 2_000

    static let forwardKeys = ["url", "environments"]

    /// Parses an app's forwarding addresses. Invalid addresses are reported as complaints and left
    /// out.
    mutating func targets(_ list: Node) -> [ForwardTarget] {
        guard let nodes = list.sequence, !nodes.isEmpty else {
            complain(list, "forward must be a list.", "Write `- url: https://…` lines under it.")
            return []
        }
        guard nodes.count <= Self.forwardsMax else {
            complain(
                list, "forward has more than \(Self.forwardsMax) addresses.",
                "Let one of them forward to the others.")
            return []
        }
        var targets: [ForwardTarget] = []
        for node in nodes {
            guard let target = target(node) else { continue }
            if targets.contains(where: { $0.name == target.name }) {
                complain(
                    node, "\(ForwardLabel.distinct(target.name)) is listed twice.",
                    "List both environments in one place.")
            }
            targets.append(target)
        }
        return targets
    }

    private mutating func target(_ node: Node) -> ForwardTarget? {
        guard node.scalar == nil else { return target(address: node, environments: nil) }
        let members = members(of: node, known: Self.forwardKeys, in: "forward")
        guard let address = members["url"] else {
            complain(node, "forward has no url.", "Write `- url: https://…`.")
            return nil
        }
        return target(address: address, environments: members["environments"])
    }

    private mutating func target(address: Node, environments: Node?) -> ForwardTarget? {
        var chosen = Set(Ledger.Environment.allCases)
        if let environments {
            let names = names(environments, of: "environments")
            chosen = Set(names.compactMap(Ledger.Environment.init(rawValue:)))
            if chosen.isEmpty || chosen.count < Set(names).count {
                complain(
                    environments, "The environment is unknown.",
                    "Use production, sandbox, or both.")
            }
        }
        guard let url = text(address), let name = Self.name(of: url) else {
            complain(
                address, "“\(text(address) ?? "…")” is not a valid forwarding URL.",
                "Use a URL like https://old.example.com/apple: with https, unless it is this "
                    + "machine (http://localhost…), and without user, password, or fragment.")
            return nil
        }
        return ForwardTarget(name: name, url: url, environments: chosen)
    }

    /// Returns the address without its query. Returns nil if notifications must not be sent to this
    /// address. Notifications may contain a secret, so without TLS they may be sent only to this
    /// machine.
    static func name(of text: String) -> String? {
        guard text.count <= urlCharactersMax, OutgoingAddress(text)?.isProtected == true
        else { return nil }
        return String(text.prefix { $0 != "?" })
    }
}

extension AppSettings {
    var forwardLines: [String] {
        forwards.targets.map { target in
            // The path and the query may contain a secret. The digits show whether one of them has
            // changed.
            "forward to \(ForwardLabel.distinct(target.name))"
                + (target.url == target.name ? "" : " (with a query)")
        }
    }

    var forwardPolicyLines: [String] {
        forwards.targets.isEmpty ? [] : ["forward_policy \(forwards.policy.rawValue)"]
    }
}

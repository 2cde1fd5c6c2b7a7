import Engine
import Foundation
import Ledger
import Yams

extension ConfigurationReader {
    /// Addresses that one app's notifications are sent on to.
    static let forwardsMax = 20
    private static let urlCharactersMax = 2_000
    /// Where nobody listens in between: there it may go without TLS.
    private static let ownHosts: Set = ["localhost", "127.0.0.1", "::1", "[::1]"]

    /// Whom an app's notifications are sent on to. What is wrong is complained of, and left out.
    mutating func forwards(_ members: [String: Node]) -> ForwardRules {
        var rules = ForwardRules.none
        if let list = members["forward"] { rules.targets = targets(list) }
        guard let node = members["forward_policy"] else { return rules }
        if let policy = word(node, ForwardRules.Policy.self, "no forward_policy") {
            rules.policy = policy
        }
        if rules.targets.isEmpty, members["forward"] == nil {
            complain(
                node, "There is a forward_policy, and nothing is sent on.",
                "Add `forward:` with at least one url, or leave the policy out.")
        }
        return rules
    }

    private mutating func targets(_ list: Node) -> [ForwardTarget] {
        guard let nodes = list.sequence, !nodes.isEmpty else {
            complain(list, "forward is no list.", "Write `- url: https://…` lines under it.")
            return []
        }
        guard nodes.count <= Self.forwardsMax else {
            complain(
                list, "forward has more than \(Self.forwardsMax) addresses.",
                "Let one of them send it on to the others.")
            return []
        }
        var targets: [ForwardTarget] = []
        for node in nodes {
            guard let target = target(node) else { continue }
            if targets.contains(where: { $0.name == target.name }) {
                complain(
                    node, "\(target.name) stands there twice.",
                    "List both environments in one place.")
            }
            targets.append(target)
        }
        return targets
    }

    private mutating func target(_ node: Node) -> ForwardTarget? {
        guard node.scalar == nil else { return target(address: node, environments: nil) }
        let members = members(of: node, known: ["url", "environments"], in: "forward")
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
                    environments, "There is no such environment.",
                    "Use production, sandbox, or both.")
            }
        }
        guard let url = text(address), let name = Self.name(of: url) else {
            complain(
                address, "“\(text(address) ?? "…")” is no address to send on to.",
                "Write one like https://old.example.com/apple: with https, unless it is this "
                    + "machine (http://localhost…), without user, password and fragment.")
            return nil
        }
        return ForwardTarget(name: name, url: url, environments: chosen)
    }

    /// The address without its query; nil where it is none that notifications may be sent to: they
    /// may hold a secret, and go without TLS to nobody but this machine.
    static func name(of text: String) -> String? {
        guard text.count <= urlCharactersMax, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
            let url = URLComponents(string: text), let host = url.host, !host.isEmpty,
            url.percentEncodedHost?.contains("%") == false, hasUsablePort(text),
            url.user == nil, url.password == nil, url.fragment == nil,
            url.scheme == "https" || (url.scheme == "http" && ownHosts.contains(host))
        else { return nil }
        return String(text.prefix { $0 != "?" })
    }

    /// Whether an address names no port, or one that there is: others end the program when they are
    /// connected to.
    static func hasUsablePort(_ text: String) -> Bool {
        guard let start = text.firstRange(of: "://")?.upperBound else { return false }
        let place = text[start...].prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        let afterHost = place[(place.lastIndex(of: "]") ?? place.startIndex)...]
        guard let colon = afterHost.firstIndex(of: ":") else { return true }
        let port = Int(afterHost[afterHost.index(after: colon)...])
        return port.map { (1...65_535).contains($0) } ?? false
    }
}

import Hummingbird
import PerennialContract

/// What a route for servers takes. A member that it does not have is refused: a misspelt one must
/// not pass for one that was left out, such as the end of a grant. What apps send is read leniently
/// instead, since a newer app may meet an older server.
protocol StrictBody: Decodable {
    /// What it has, as JSON names it.
    static var members: [String] { get }
    /// Of members that are lists of objects: what each of these has.
    static var listed: [String: [String]] { get }
}

extension StrictBody {
    static var listed: [String: [String]] { [:] }
}

extension GrantRequest: StrictBody {
    static let members = ["entitlement", "until", "reason"]
}

extension OwnershipRequest: StrictBody {
    static let members = ["original_transaction_id", "reason"]
}

extension DebitRequest: StrictBody {
    static let members = ["amount", "reason"]
}

extension ConsumptionRequest: StrictBody {
    static let members = ["consented", "sample_content_provided", "purchases"]
    static let listed = ["purchases": ["transaction_id", "delivery", "used_percent"]]
}

/// A value whose JSON has no member that is not the value's.
struct Strict<Value: StrictBody>: Decodable {
    let value: Value

    init(from decoder: any Decoder) throws {
        try MemberNames(from: decoder).require(Value.members, below: "")
        let members = try decoder.container(keyedBy: MemberNames.Name.self)
        for (name, known) in Value.listed {
            let entries = try members.decodeIfPresent(
                [MemberNames].self, forKey: MemberNames.Name(stringValue: name))
            for (index, entry) in (entries ?? []).enumerated() {
                try entry.require(known, below: "\(name)[\(index)].")
            }
        }
        value = try Value(from: decoder)
    }
}

/// How the members of a JSON object are called, whatever they hold.
struct MemberNames: Decodable {
    var names: [String]

    struct Name: CodingKey {
        var stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { return nil }
    }

    init(from decoder: any Decoder) throws {
        names = try decoder.container(keyedBy: Name.self).allKeys.map(\.stringValue)
    }

    func require(_ known: [String], below path: String) throws {
        let unknown = Refused.unknownName(among: names, known: known, below: path)
        guard let unknown else { return }
        throw Refused.bodyNotUnderstood(unknown)
    }
}

extension Request {
    /// For routes for servers: a parameter that the route does not have must not pass for one that
    /// was left out, such as the customer whose events are asked for.
    func requireQuery(among known: [String]) throws {
        guard uri.query != nil else { return }
        let asked = uri.queryParameters.map { String($0.key) }.filter { !$0.isEmpty }
        guard let unknown = Refused.unknownName(among: asked, known: known) else { return }
        throw Refused(
            .requestNotUnderstood, "The query is not what is expected here.", detail: unknown,
            remedy: "Compare it with /openapi.json.")
    }
}

extension Refused {
    /// Of a name that nobody knows.
    private static let nameCharactersMax = 40

    fileprivate static func unknownName(
        among names: [String], known: [String], below path: String = ""
    ) -> String? {
        guard let unknown = names.filter({ !known.contains($0) }).min() else { return nil }
        let list = known.isEmpty ? "none" : known.sorted().joined(separator: ", ")
        let name = unknown.prefix(nameCharactersMax)
        return "There is no `\(path)\(name)` here; there are: \(list)."
    }
}

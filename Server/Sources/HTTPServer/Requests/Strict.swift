import Engine
import Hummingbird
import PerennialContract

/// The body of a route for servers. The JSON of the body must not have unknown members: a misspelt
/// member, such as the end of a grant, must not count as missing. Bodies from apps are decoded
/// leniently instead, because a newer app may use an older server.
struct Strict<Value: Decodable>: Decodable {
    let value: Value

    init(from decoder: any Decoder) throws {
        let shape = try ContractShape(of: Value.self)
        try MemberNames(from: decoder).require(shape.names, below: "")
        let members = try decoder.container(keyedBy: MemberNames.Name.self)
        for member in shape.members {
            guard case .list(let element) = member.form, let type = element.object else { continue }
            let known = try ContractShape(of: type).names
            let entries = try members.decodeIfPresent(
                [MemberNames].self, forKey: MemberNames.Name(stringValue: member.name))
            for (index, entry) in (entries ?? []).enumerated() {
                try entry.require(known, below: "\(member.name)[\(index)].")
            }
        }
        value = try Value(from: decoder)
    }
}

/// The names of the members of a JSON object, whatever their values are.
struct MemberNames: Decodable {
    var names: [String]

    struct Name: CodingKey, ExpressibleByStringLiteral {
        var stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init(stringLiteral value: String) { stringValue = value }
        init?(intValue: Int) { return nil }
    }

    init(from decoder: any Decoder) throws {
        names = try decoder.container(keyedBy: Name.self).allKeys.map(\.stringValue)
    }

    func require(_ known: [String], below path: String) throws {
        let unknown = ProblemError.unknownName(among: names, known: known, below: path)
        guard let unknown else { return }
        throw ProblemError(.bodyNotUnderstood, detail: unknown)
    }
}

extension KeyedDecodingContainer {
    /// Returns the value of a member that may be null, but must exist: a misspelt name of the
    /// member must not count as null.
    func decodeNullable<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value? {
        guard contains(key) else {
            throw DecodingError.keyNotFound(
                key, .init(codingPath: codingPath, debugDescription: "The member is missing."))
        }
        return try decodeIfPresent(type, forKey: key)
    }
}

extension Request {
    /// Checks the query of a route for servers. Refuses unknown parameters: a misspelt parameter,
    /// such as the customer whose events are requested, must not count as missing.
    func requireQuery(among known: [String]) throws {
        guard let unknown = ProblemError.unknownName(among: queryNames, known: known) else {
            return
        }
        throw ProblemError(.parameterUnknown, detail: unknown)
    }

    /// Checks the query of a route for apps. Refuses a parameter that is similar to a known one,
    /// such as `enviroment`. Ignores other unknown parameters, because a newer app may use an older
    /// server.
    func refuseMisspelling(of known: [String]) throws {
        for name in queryNames.sorted() where !known.contains(name) {
            guard let meant = Spelling.nearest(to: name, among: known) else { continue }
            throw ProblemError(
                .parameterUnknown,
                detail: "`\(EngineFailure.shortened(name))` is unknown. Did you mean \(meant)?")
        }
    }

    private var queryNames: [String] {
        guard uri.query != nil else { return [] }
        return uri.queryParameters.map { String($0.key) }.filter {
            !$0.isEmpty && $0 != Indentation.parameter
        }
    }
}

extension ProblemError {
    fileprivate static func unknownName(
        among names: [String], known: [String], below path: String = ""
    ) -> String? {
        guard let unknown = names.filter({ !known.contains($0) }).min() else { return nil }
        let list = known.isEmpty ? "none" : known.sorted().joined(separator: ", ")
        return "`\(path)\(EngineFailure.shortened(unknown))` is unknown. Known are: \(list)."
    }
}

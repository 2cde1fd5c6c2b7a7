import AppStoreFormats
import Hummingbird

@testable import Simulator

/// The simulator's own description, `/_sim/openapi.json`, to check responses against.
struct DescribedAnswers: Sendable {
    static let shared = Self(document: OpenAPI.document)

    let document: JSON

    /// Returns the route that a call takes, or nil if there is none.
    func route(_ method: HTTPRequest.Method, _ path: String) -> SimulatorRoute? {
        let parts = path.prefix { $0 != "?" }.split(separator: "/")
        return SimulatorRoute.all.first { route in
            let words = route.path.split(separator: "/")
            return route.method == method && words.count == parts.count
                && zip(words, parts).allSatisfy { word, part in
                    word.hasPrefix("{") || word == part
                }
        }
    }

    /// Returns the differences between a response and its description. Returns an empty list if
    /// there are none, and if there is no description to compare with: for Apple's own paths, for
    /// bytes, and for a single field.
    func differences(
        _ method: HTTPRequest.Method, _ path: String, status: Int, _ text: String
    ) throws -> [String] {
        guard path.hasPrefix("/_sim/") else { return [] }
        if status != 200 {
            let problem = try JSON(parsing: text.utf8)
            return differences(of: problem, from: JSON(OpenAPI.reference("Problem")), at: path)
        }
        guard let route = route(method, path) else { return ["\(path) is not described."] }
        guard case .json = route.shape, !path.contains("only=") else { return [] }
        let operation = document["paths"]?[route.path]?[method.rawValue.lowercased()]
        let content = operation?["responses"]?["200"]?["content"]
        guard let schema = content?["application/json"]?["schema"] else {
            return ["\(route.path) has no schema."]
        }
        return differences(of: try JSON(parsing: text.utf8), from: schema, at: path)
    }

    private func differences(of value: JSON, from schema: JSON, at place: String) -> [String] {
        if let reference = schema["$ref"]?.string {
            guard let target = target(of: reference) else {
                return ["\(reference) leads nowhere."]
            }
            return differences(of: value, from: target, at: place)
        }
        if let choices = schema["anyOf"]?.array {
            let all = choices.map { differences(of: value, from: $0, at: place) }
            return all.contains(where: \.isEmpty) ? [] : all.first ?? []
        }
        if let type = schema["type"]?.string, !value.isOf(type) {
            return ["\(place) is no \(type): \(value.text.prefix(80))"]
        }
        if let words = schema["enum"]?.array, !words.contains(value) {
            return ["\(place) is \(value.text.prefix(80)), which is none of its words."]
        }
        if schema["format"] == "date-time", value.string.flatMap(RFC3339.moment) == nil {
            return ["\(place) is no time: \(value.text.prefix(80))"]
        }
        if let elements = value.array, let inner = schema["items"] {
            return elements.indices.flatMap { index in
                differences(of: elements[index], from: inner, at: "\(place)[\(index)]")
            }
        }
        return differences(among: value, schema, place)
    }

    /// Returns the members that are missing, that are not described, or that differ from their
    /// description. Skips objects whose schema names no members.
    private func differences(among value: JSON, _ schema: JSON, _ place: String) -> [String] {
        guard let members = value.members, let properties = schema["properties"] else { return [] }
        let required = (schema["required"]?.array ?? []).compactMap(\.string)
        let missing = required.filter { value[$0] == nil }.map { "\(place) lacks \($0)." }
        return missing
            + members.flatMap { member -> [String] in
                let inner = "\(place).\(member.key)"
                if let described = properties[member.key] {
                    return differences(of: member.value, from: described, at: inner)
                }
                return schema["additionalProperties"] == true ? [] : ["\(inner) is not described."]
            }
    }

    /// Returns the target of a reference, or nil if it has none.
    func target(of reference: String) -> JSON? {
        reference.split(separator: "/").dropFirst().reduce(document as JSON?) { place, name in
            place?[String(name)]
        }
    }
}

extension JSON {
    /// Returns whether the value has a type of JSON Schema.
    fileprivate func isOf(_ type: String) -> Bool {
        switch self {
        case .null: type == "null"
        case .bool: type == "boolean"
        case .integer: type == "integer" || type == "number"
        case .decimal: type == "number"
        case .string: type == "string"
        case .array: type == "array"
        case .object: type == "object"
        }
    }
}

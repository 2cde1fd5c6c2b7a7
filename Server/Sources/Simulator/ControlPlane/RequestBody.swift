import AppStoreFormats
import Foundation

/// The JSON object of a request, read field by field. A field of the wrong type and an unknown
/// field are errors, because a misspelt field that is silently ignored costs an afternoon.
struct RequestBody: Sendable {
    private let json: JSON

    /// Parses the body. An empty body counts as an empty object. `known` lists all fields that the
    /// route accepts.
    init(_ bytes: [UInt8], known: [String]) throws(SimulatorProblem) {
        let json: JSON
        do { json = bytes.isEmpty ? .object([]) : try JSON(parsing: bytes) } catch {
            throw .badRequest(
                "The body is not valid JSON: \(error).", remedy: "Send a JSON object.")
        }
        try self.init(json, known: known, place: "The body")
    }

    init(_ json: JSON, known: [String], place: String) throws(SimulatorProblem) {
        guard let members = json.members else {
            throw .badRequest("\(place) is not a JSON object.", remedy: Self.remedy(known))
        }
        for member in members where !known.contains(member.key) {
            throw .badRequest(
                "\(place) has the unknown field \(member.key).", remedy: Self.remedy(known))
        }
        self.json = json
    }

    private static func remedy(_ known: [String]) -> String {
        known.isEmpty
            ? "This route accepts no fields." : "Accepted fields: \(known.joined(separator: ", "))."
    }

    /// The value of a field. Nil if it is absent or null.
    func value(_ field: String) -> JSON? { json[field].flatMap { $0 == .null ? nil : $0 } }

    func string(_ field: String) throws(SimulatorProblem) -> String? {
        guard let value = value(field) else { return nil }
        guard let text = value.string, !text.isEmpty else {
            throw Self.invalidField(field, "a text")
        }
        return text
    }

    /// The value of a field, which must be a URL that something can be posted to. Nil if it is
    /// absent.
    func url(_ field: String) throws(SimulatorProblem) -> String? {
        guard let text = try string(field) else { return nil }
        guard SimulatorSettings.isPostableURL(text) else {
            throw Self.invalidField(
                field, "an address such as http://127.0.0.1:8080/apple/notifications")
        }
        return text
    }

    /// The value of a field, which must be a UUID, in lower case as StoreKit signs it. Nil if it is
    /// absent.
    func uuid(_ field: String) throws(SimulatorProblem) -> String? {
        guard let text = try string(field) else { return nil }
        guard let uuid = UUID(uuidString: text) else {
            throw Self.invalidField(field, "a UUID such as 0cbe3f1b-7a5c-4b5e-8e54-d7c1f2a3b4c5")
        }
        return uuid.uuidString.lowercased()
    }

    func requiredString(_ field: String) throws(SimulatorProblem) -> String {
        guard let text = try string(field) else {
            throw .badRequest("The field \(field) is missing.", remedy: "Send it as a text.")
        }
        return text
    }

    func integer(_ field: String) throws(SimulatorProblem) -> Int64? {
        guard let value = value(field) else { return nil }
        guard let number = value.integer else { throw Self.invalidField(field, "a whole number") }
        return number
    }

    func bool(_ field: String) throws(SimulatorProblem) -> Bool? {
        guard let value = value(field) else { return nil }
        guard let bool = value.bool else { throw Self.invalidField(field, "true or false") }
        return bool
    }

    func number(_ field: String) throws(SimulatorProblem) -> Double? {
        switch value(field) {
        case nil: return nil
        case .integer(let whole)?: return Double(whole)
        case .decimal(let literal)?:
            if let number = Double(literal) { return number }
            throw Self.invalidField(field, "a number")
        default: throw Self.invalidField(field, "a number")
        }
    }

    /// The value of a field, which must be a probability from 0 to 1. Nil if it is absent.
    func odds(_ field: String) throws(SimulatorProblem) -> Double? {
        guard let number = try number(field) else { return nil }
        guard (0...1).contains(number) else {
            throw Self.invalidField(field, "a number from 0 to 1")
        }
        return number
    }

    func time(_ field: String) throws(SimulatorProblem) -> AppStoreDate? {
        guard let text = try string(field) else { return nil }
        guard let moment = RFC3339.moment(text) else {
            throw Self.invalidField(field, "a time such as 2026-03-08T10:00:00Z")
        }
        return moment
    }

    static func invalidField(_ field: String, _ kind: String) -> SimulatorProblem {
        .badRequest("The field \(field) is not \(kind).", remedy: "Send \(kind).")
    }
}

extension RequestBody {
    /// Whether a field is present and null.
    func isNull(_ field: String) -> Bool { json[field] == .null }
}

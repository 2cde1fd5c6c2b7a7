import AppStoreFormats
import Foundation
import Simulator
import Yams

/// Settings of a simulated world that a `.storekit` file cannot contain. The YAML file has the
/// fields of `POST /_sim/reset`. The field `shop` may be the path of a `.storekit` file, relative
/// to the folder of the YAML file.
struct WorldFile {
    /// The maximum size of a file, in bytes.
    static let bytesMax = 1_048_576
    /// The maximum nesting depth of values.
    private static let depthMax = 20

    let path: String

    /// Returns the given settings, changed by the values in the file.
    func settings(over given: SimulatorSettings) throws -> SimulatorSettings {
        do { return try given.changed(by: json()) } catch let problem as SimulatorProblem {
            throw StartFailure("\(path): \(problem.message)", remedy: problem.remedy)
        }
    }

    /// Returns the file's contents as the body of a reset, with the shop file included.
    func json() throws -> JSON {
        let url = URL(fileURLWithPath: path)
        guard let bytes = FileManager.default.contents(atPath: path), bytes.count <= Self.bytesMax,
            let text = String(data: bytes, encoding: .utf8)
        else {
            throw StartFailure(
                "\(path) cannot be read.",
                remedy: "Name a YAML file of at most \(Self.bytesMax) bytes.")
        }
        let root: Node?
        do { root = try Yams.compose(yaml: text) } catch {
            let problem = YAMLProblem(error, in: text).problem
            let place = problem.line.map { "\(path):\($0)" } ?? path
            throw StartFailure("\(place): \(problem.message)", remedy: problem.remedy)
        }
        guard let root else { return .object([]) }
        let json = try Self.json(root, depth: 0)
        guard let shop = json["shop"]?.string, !["example", "full"].contains(shop) else {
            return json
        }
        let members = (json.members ?? []).filter { $0.key != "shop" }
        return .object(members + [.init("shop", try products(shop, from: url))])
    }

    private func products(_ name: String, from file: URL) throws -> JSON {
        let shop = URL(fileURLWithPath: name, relativeTo: file.deletingLastPathComponent())
        guard let bytes = FileManager.default.contents(atPath: shop.path),
            let json = try? JSON(parsing: bytes)
        else {
            throw StartFailure(
                "\(path): the shop \(name) cannot be read.",
                remedy: "Name a .storekit file, relative to the folder of \(path).")
        }
        return json
    }

    /// Converts YAML to JSON. Unquoted words become null, booleans or numbers if they have that
    /// form; dates stay strings.
    private static func json(_ node: Node, depth: Int) throws -> JSON {
        guard depth < depthMax else {
            throw StartFailure("The file is nested too deeply.", remedy: "Use less nesting.")
        }
        switch node {
        case .mapping(let mapping):
            return .object(
                try mapping.map { key, value in
                    JSON.Member(key.string ?? "", try json(value, depth: depth + 1))
                })
        case .sequence(let sequence):
            return .array(try sequence.map { try json($0, depth: depth + 1) })
        case .scalar(let scalar):
            guard scalar.style == .plain else { return .string(scalar.string) }
            if node.null != nil { return .null }
            if let bool = node.bool { return .bool(bool) }
            if let number = Int64(scalar.string) { return .integer(number) }
            let isNumber = Double(scalar.string) != nil && scalar.string.first?.isNumber == true
            return isNumber ? .decimal(scalar.string) : .string(scalar.string)
        case .alias:
            throw StartFailure("The file has a YAML alias.", remedy: "Write the value itself.")
        }
    }
}

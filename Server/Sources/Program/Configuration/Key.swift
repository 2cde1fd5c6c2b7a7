import Engine
import Yams

/// A key of a mapping in the configuration: its name, how its value is read, and how a change of
/// the value is shown.
///
/// A mapping declares its keys in one list. `ConfigurationReader.read` reads the keys in the order
/// of this list, so a key may use the values of earlier keys. In the closures, `$0` is the reader
/// and `$1` the value.
struct Key<Target>: Sendable {
    typealias Reader = ConfigurationReader

    let name: String
    let read: @Sendable (inout Reader, Node, inout Target) -> Void
    private(set) var lines: (@Sendable (AppSettings) -> [String])?

    /// A key whose value is read into `$2`. Without a closure, the mapping's function reads the
    /// key, together with others.
    init(
        _ name: String,
        read: @escaping @Sendable (inout Reader, Node, inout Target) -> Void = { _, _, _ in }
    ) {
        self.name = name
        self.read = read
    }

    /// A key that sets a property. If the value is invalid, the property stays as it is.
    init<Value>(
        _ name: String, _ property: WritableKeyPath<Target, Value> & Sendable,
        parse: @escaping @Sendable (inout Reader, Node) -> Value?
    ) {
        self.init(name) { reader, node, target in
            if let value = parse(&reader, node) { target[keyPath: property] = value }
        }
    }

    /// A key that sets a property from a number in a range.
    init<Value>(
        _ name: String, _ property: WritableKeyPath<Target, Value> & Sendable,
        in range: ClosedRange<Int>, _ convert: @escaping @Sendable (Int) -> Value
    ) {
        self.init(name, property) { $0.number($1, in: range, of: name).map(convert) }
    }

    /// A key that sets a property from a mapping.
    init<Part>(
        _ name: String, _ property: WritableKeyPath<Target, Part> & Sendable, _ keys: [Key<Part>]
    ) {
        self.init(name) { $0.read($1, keys, into: &$2[keyPath: property], in: name) }
    }

    /// Adds the lines that show a key of an app in `perennial config diff`.
    func compared(by lines: @escaping @Sendable (AppSettings) -> [String]) -> Self
    where Target == AppConfiguration {
        var key = self
        key.lines = lines
        return key
    }
}

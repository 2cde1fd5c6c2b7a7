/// Stores a value with many fields once, however often it is copied.
struct Boxed<Value: Hashable & Sendable>: Hashable, Sendable {
    private final class Box: Sendable {
        let value: Value

        init(_ value: Value) {
            self.value = value
        }
    }

    private let box: Box

    init(_ value: Value) {
        box = Box(value)
    }

    var value: Value { box.value }

    static func == (left: Self, right: Self) -> Bool {
        left.box === right.box || left.value == right.value
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(value)
    }
}

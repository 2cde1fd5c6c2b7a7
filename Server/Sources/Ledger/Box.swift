/// Stores a value with many fields on the heap, so that copies share it.
struct Box<Value: Hashable & Sendable>: Hashable, Sendable {
    private final class Storage: Sendable {
        let value: Value

        init(_ value: Value) {
            self.value = value
        }
    }

    private let storage: Storage

    init(_ value: Value) {
        storage = Storage(value)
    }

    var value: Value { storage.value }

    static func == (left: Self, right: Self) -> Bool {
        left.storage === right.storage || left.value == right.value
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(value)
    }
}

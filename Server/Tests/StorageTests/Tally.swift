import Synchronization

/// A count that several tasks increase.
final class Tally: Sendable {
    private let value = Atomic<Int>(0)

    var count: Int { value.load(ordering: .relaxed) }

    /// Adds one, and returns the new count.
    func next() -> Int { value.add(1, ordering: .relaxed).newValue }

    /// Collects items from several tasks.
    final class List<Item: Sendable>: Sendable {
        private let items = Mutex<[Item]>([])

        var all: [Item] { items.withLock { $0 } }
        func add(_ item: Item) { items.withLock { $0.append(item) } }
    }
}

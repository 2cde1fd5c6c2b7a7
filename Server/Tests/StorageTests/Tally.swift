import Synchronization

/// Counts across tasks.
final class Tally: Sendable {
    private let value = Atomic<Int>(0)

    var count: Int { value.load(ordering: .relaxed) }

    /// The number after this one more.
    func next() -> Int { value.add(1, ordering: .relaxed).newValue }

    /// Numbers that several tasks put together.
    final class List: Sendable {
        private let numbers = Mutex<[Int]>([])

        var all: [Int] { numbers.withLock { $0 } }
        func add(_ number: Int) { numbers.withLock { $0.append(number) } }
    }
}

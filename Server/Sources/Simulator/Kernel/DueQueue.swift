import AppStoreFormats

/// A priority queue by due time, as a binary heap. Entries due at the same moment are returned in
/// the order in which they were added.
struct DueQueue<Content: Sendable>: Sendable {
    private struct Entry: Sendable {
        let due: AppStoreDate
        let sequence: Int
        let content: Content

        func precedes(_ other: Self) -> Bool {
            (due.milliseconds, sequence) < (other.due.milliseconds, other.sequence)
        }
    }

    private var heap: [Entry] = []
    private var added = 0

    var isEmpty: Bool { heap.isEmpty }
    var first: (due: AppStoreDate, content: Content)? {
        heap.first.map { ($0.due, $0.content) }
    }

    mutating func add(_ content: Content, due: AppStoreDate) {
        added += 1
        heap.append(Entry(due: due, sequence: added, content: content))
        var child = heap.count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            guard heap[child].precedes(heap[parent]) else { return }
            heap.swapAt(child, parent)
            child = parent
        }
    }

    mutating func removeFirst() -> Content? {
        guard let first = heap.first else { return nil }
        let last = heap.removeLast()
        if !heap.isEmpty {
            heap[0] = last
            sink()
        }
        return first.content
    }

    private mutating func sink() {
        var parent = 0
        while true {
            var least = parent
            for child in 2 * parent + 1...2 * parent + 2 where child < heap.count {
                if heap[child].precedes(heap[least]) { least = child }
            }
            guard least != parent else { return }
            heap.swapAt(parent, least)
            parent = least
        }
    }
}

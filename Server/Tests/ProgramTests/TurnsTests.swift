import Synchronization
import Testing

@testable import Program

@Suite struct TurnsTests {
    private final class Busy: Sendable {
        private let count = Mutex(0)

        func begin() -> Int {
            count.withLock { count in
                count += 1
                return count
            }
        }

        func end() { count.withLock { $0 -= 1 } }
    }

    @Test(.timeLimit(.minutes(1)))
    func `of one name nobody has a turn beside another`() async {
        let turns = Turns()
        let busy = Busy()
        await withTaskGroup(of: Int.self) { tasks in
            for _ in 0..<100 {
                tasks.addTask {
                    await turns.take(at: "a")
                    defer { turns.end(at: "a") }
                    let count = busy.begin()
                    await Task.yield()
                    busy.end()
                    return count
                }
            }
            for await count in tasks { #expect(count == 1) }
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func `of different names nobody waits for another`() async {
        let turns = Turns()
        await turns.take(at: "a")
        await turns.take(at: "b")
        turns.end(at: "a")
        await turns.take(at: "a")
        turns.end(at: "a")
        turns.end(at: "b")
    }
}

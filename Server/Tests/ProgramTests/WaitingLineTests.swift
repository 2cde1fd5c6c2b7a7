import Synchronization
import Testing

@testable import Program

@Suite struct WaitingLineTests {
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

    @Test(.timeLimit(.minutes(5)))
    func `tasks that hold the same key run one at a time`() async {
        let line = KeyedLock()
        let busy = Busy()
        await withTaskGroup(of: Int.self) { tasks in
            for _ in 0..<100 {
                tasks.addTask {
                    await line.lock(at: "a")
                    defer { line.unlock(at: "a") }
                    let count = busy.begin()
                    await Task.yield()
                    busy.end()
                    return count
                }
            }
            for await count in tasks { #expect(count == 1) }
        }
    }

    @Test(.timeLimit(.minutes(5)))
    func `tasks that hold different keys run at the same time`() async {
        let line = KeyedLock()
        await line.lock(at: "a")
        await line.lock(at: "b")
        line.unlock(at: "a")
        await line.lock(at: "a")
        line.unlock(at: "a")
        line.unlock(at: "b")
    }
}

import Dispatch
import Foundation
import Synchronization

/// A queue of lines for a file descriptor. A separate thread writes the lines, so that logging
/// never waits for the reader of the log.
///
/// If the queue is full, further lines are dropped and counted. When the reader continues, a line
/// says how many lines are missing at that place.
final class LineQueue: Sendable {
    /// The maximum number of waiting bytes. In addition, the thread may be writing the same number
    /// of bytes.
    static let bytesMax = 4_194_304
    /// A buffer that has grown beyond this size is released.
    private static let retainedBytesMax = 262_144

    private struct State {
        var bytes: [UInt8] = []
        /// True if the thread is working or has been signalled.
        var isAwake = false
        var hasThread = false
        /// The lines dropped since a line last reported their number.
        var dropped = 0
        var droppedSinceStart = 0
        /// The number of callers that wait until all lines are written.
        var flushes = 0
    }

    private let descriptor: Int32
    private let bytesMax: Int
    private let notice: @Sendable (Int) -> [UInt8]
    private let state = Mutex(State())
    private let work = DispatchSemaphore(value: 0)
    private let flushed = DispatchSemaphore(value: 0)

    /// - Parameter notice: makes the line that says how many lines were dropped.
    init(
        to descriptor: Int32, bytesMax: Int = bytesMax,
        notice: @escaping @Sendable (Int) -> [UInt8]
    ) {
        self.descriptor = descriptor
        self.bytesMax = bytesMax
        self.notice = notice
    }

    /// The number of lines dropped since the start.
    var droppedCount: Int { state.withLock { $0.droppedSinceStart } }

    /// Adds a line. Never blocks.
    func add(_ line: [UInt8]) {
        let (wakes, begins) = state.withLock { state in
            guard state.bytes.count + line.count <= bytesMax else {
                state.dropped += 1
                state.droppedSinceStart += 1
                return (false, false)
            }
            state.bytes += line
            defer { (state.isAwake, state.hasThread) = (true, true) }
            return (!state.isAwake, !state.hasThread)
        }
        if begins { startThread() }
        if wakes { work.signal() }
    }

    /// Waits until all lines are written or the time is over. Call it before the process ends.
    func flush(atMost seconds: Double) {
        let waits = state.withLock { state in
            if state.isAwake { state.flushes += 1 }
            return state.isAwake
        }
        if waits { _ = flushed.wait(timeout: .now() + seconds) }
    }

    // MARK: - The thread

    private func startThread() {
        let thread = Thread { [self] in
            var batch: [UInt8] = []
            while true {
                work.wait()
                while dequeue(&batch) { write(batch) }
            }
        }
        thread.name = "perennial-log"
        thread.start()
    }

    /// Takes the waiting bytes. Returns false if there are none, and then the thread sleeps.
    private func dequeue(_ batch: inout [UInt8]) -> Bool {
        if batch.capacity > Self.retainedBytesMax { batch = [] }
        batch.removeAll(keepingCapacity: true)
        let (taken, dropped) = state.withLock { state in
            let taken = state.bytes
            state.bytes = batch
            let dropped = state.dropped
            state.dropped = 0
            if taken.isEmpty, dropped == 0 {
                state.isAwake = false
                for _ in 0..<state.flushes { flushed.signal() }
                state.flushes = 0
            }
            return (taken, dropped)
        }
        batch = taken
        if dropped > 0 { batch += notice(dropped) }
        return !batch.isEmpty
    }

    /// Writes the lines. If the descriptor fails, they are lost, because a log must not end the
    /// program.
    private func write(_ lines: [UInt8]) {
        var rest = lines[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Foundation.write(descriptor, $0.baseAddress, $0.count)
            }
            switch (count, errno) {
            case (1..., _): rest = rest.dropFirst(count)
            case (_, EINTR): continue
            case (_, EAGAIN): waitForRoom()
            default:
                let lost = rest.count { $0 == UInt8(ascii: "\n") }
                return state.withLock { $0.droppedSinceStart += lost }
            }
        }
    }

    /// Waits until the descriptor is writable. This is necessary if another process has made it
    /// non-blocking.
    private func waitForRoom() {
        var wanted = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        poll(&wanted, 1, -1)
    }
}

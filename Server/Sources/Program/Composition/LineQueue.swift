import Dispatch
import Foundation
import Synchronization

/// Lines on their way to a file descriptor. A thread of its own writes them, so that nobody who
/// logs waits for whoever reads the log.
///
/// Lines that find no room are dropped and counted. When the reader goes on, a line in their place
/// says how many are missing.
final class LineQueue: Sendable {
    /// Bytes that wait; as many again may be on their way.
    static let bytesMax = 4_194_304
    /// A buffer that has grown beyond that is let go of.
    private static let keptBytesMax = 262_144

    private struct State {
        var bytes: [UInt8] = []
        /// The thread is at work, or has been told to be.
        var isAwake = false
        var hasThread = false
        /// Lines dropped since a line has said so.
        var dropped = 0
        var droppedSinceStart = 0
        /// Those who wait until everything is written.
        var flushes = 0
    }

    private let descriptor: Int32
    private let bytesMax: Int
    private let notice: @Sendable (Int) -> [UInt8]
    private let state = Mutex(State())
    private let work = DispatchSemaphore(value: 0)
    private let flushed = DispatchSemaphore(value: 0)

    /// - Parameter notice: the line that says how many were dropped.
    init(
        to descriptor: Int32, bytesMax: Int = bytesMax,
        notice: @escaping @Sendable (Int) -> [UInt8]
    ) {
        self.descriptor = descriptor
        self.bytesMax = bytesMax
        self.notice = notice
    }

    /// Lines that nobody has read, since the start.
    var droppedCount: Int { state.withLock { $0.droppedSinceStart } }

    /// Never blocks.
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

    /// Waits until everything is written, if only for so long. To be called before the process
    /// ends.
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
                while take(&batch) { write(batch) }
            }
        }
        thread.name = "perennial-log"
        thread.start()
    }

    /// Takes what waits. False where nothing does: the thread then sleeps.
    private func take(_ batch: inout [UInt8]) -> Bool {
        if batch.capacity > Self.keptBytesMax { batch = [] }
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

    /// Where nobody reads any more the lines are lost: a log must not end the program.
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

    /// Somebody has made the descriptor one that does not block.
    private func waitForRoom() {
        var wanted = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        poll(&wanted, 1, -1)
    }
}

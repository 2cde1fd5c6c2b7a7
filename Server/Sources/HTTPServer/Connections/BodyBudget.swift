import Hummingbird
import NIOCore
import Synchronization

/// The maximum number of bytes of request bodies in memory at one time, and how long a body may
/// take. Requests whose body would exceed this number of bytes are rejected with 503.
package struct BodyBudgetLimits: Hashable, Sendable {
    /// The limit for all requests together, in bytes, without the reserve.
    package var bytesMax = 134_217_728
    /// The limit for requests without a valid key, in bytes, without the reserve. Enough for a
    /// notification of the usual size on each of ``PerennialServer/connectionsMax`` connections.
    package var bytesWithoutKeyMax = 67_108_864
    /// The limit for requests to verifyReceipt, in bytes. This limit is part of the limit for
    /// requests without a key, so that receipts cannot crowd out notifications.
    package var receiptBytesMax = 33_554_432
    /// Bytes that are reserved for small notifications.
    package var reservedBytes = 16_777_216
    /// The maximum announced size of a small notification, in bytes.
    package var smallNotificationBytesMax = 65_536
    /// The maximum time from when the body is requested until its end.
    package var secondsMax: Int64 = 30

    package init() {}
}

/// The limit that a request's body is counted against.
enum BodyPool: Hashable, Sendable {
    /// The request has a valid key.
    case withKey
    /// The request has no valid key, and its route has chosen no other pool.
    case withoutKey
    /// A request to verifyReceipt.
    case receipts
    /// A notification that announces a small body. A notification with a small body may use the
    /// reserve.
    case smallNotifications
}

/// Counts the bytes of all request bodies in memory, and enforces ``BodyBudgetLimits``.
final class BodyBudget: Sendable {
    struct Usage: Hashable, Sendable {
        fileprivate var bytes: [BodyPool: Int] = [:]
        /// The number of requests rejected since the start, for each pool.
        fileprivate var refused: [BodyPool: Int] = [:]

        var bytesWithKey: Int { bytes[.withKey, default: 0] }
        var bytesWithoutKey: Int { bytes.values.reduce(0, +) - bytesWithKey }
        var refusedWithKey: Int { refused[.withKey, default: 0] }
        var refusedWithoutKey: Int { refused.values.reduce(0, +) - refusedWithKey }

        /// Whether the counted bytes are within the limits. Small notifications use the reserve
        /// first; only the rest of their bytes counts against the other limits.
        fileprivate func isWithin(_ limits: BodyBudgetLimits) -> Bool {
            let receipts = bytes[.receipts, default: 0]
            let small = bytes[.smallNotifications, default: 0]
            let withoutKey =
                bytes[.withoutKey, default: 0] + receipts + max(0, small - limits.reservedBytes)
            return receipts <= limits.receiptBytesMax
                && withoutKey <= limits.bytesWithoutKeyMax
                && withoutKey + bytesWithKey <= limits.bytesMax
        }
    }

    let limits: BodyBudgetLimits
    private let state = Mutex(Usage())

    init(_ limits: BodyBudgetLimits) { self.limits = limits }

    var usage: Usage { state.withLock { $0 } }

    /// Adds bytes and returns true, unless that would exceed the limits.
    fileprivate func add(_ bytes: Int, to pool: BodyPool) -> Bool {
        state.withLock { usage in
            usage.bytes[pool, default: 0] += bytes
            guard usage.isWithin(limits) else {
                usage.bytes[pool, default: 0] -= bytes
                usage.refused[pool, default: 0] += 1
                return false
            }
            return true
        }
    }

    fileprivate func remove(_ bytes: Int, from pool: BodyPool) {
        state.withLock { $0.bytes[pool, default: 0] -= bytes }
    }
}

/// One request's share of the budget. The share grows as the body arrives, and is released when the
/// response has been made.
final class BodyShare: Sendable {
    private struct State {
        var pool = BodyPool.withoutKey
        var bytes = 0
    }

    private let budget: BodyBudget
    /// The length of the body according to the header; nil if the header has none.
    private let length: Int?
    private let state = Mutex(State())

    init(of budget: BodyBudget, length: Int?) {
        self.budget = budget
        self.length = length
    }

    /// Applies the limits of another pool from now on. Call this before the body is read;
    /// afterwards it has no effect.
    func use(_ pool: BodyPool) {
        state.withLock { state in if state.bytes == 0 { state.pool = pool } }
    }

    /// Lets a small notification use the reserve.
    func useNotificationReserve() {
        guard let length, length <= budget.limits.smallNotificationBytesMax else { return }
        use(.smallNotifications)
    }

    /// Counts bytes that have arrived.
    ///
    /// - Throws: ``ProblemError`` if too many bytes are in memory already.
    func add(_ bytes: Int) throws {
        let isWithin = state.withLock { state in
            guard budget.add(bytes, to: state.pool) else { return false }
            state.bytes += bytes
            return true
        }
        guard isWithin else { throw ProblemError(.tooManyBodyBytes) }
    }

    func release() {
        state.withLock { state in
            guard state.bytes > 0 else { return }
            budget.remove(state.bytes, from: state.pool)
            state.bytes = 0
        }
    }
}

/// A request's body. The bytes of the body count against the budget. The connection continues
/// reading, or tells the client to send the body, only when the body is read: see
/// ``ConnectionHandler``.
struct MeteredBody: AsyncSequence, Sendable {
    typealias Element = ByteBuffer

    let parts: RequestBody
    let share: BodyShare
    let channel: any Channel

    struct Iterator: AsyncIteratorProtocol {
        var parts: RequestBody.AsyncIterator
        let share: BodyShare
        /// The channel on which the body is requested. Nil after the body has been requested.
        var channel: (any Channel)?

        @concurrent mutating func next() async throws -> ByteBuffer? {
            channel?.triggerUserOutboundEvent(BodyWanted(), promise: nil)
            channel = nil
            guard let part = try await parts.next() else { return nil }
            try share.add(part.readableBytes)
            return part
        }
    }

    func makeAsyncIterator() -> Iterator {
        Iterator(parts: parts.makeAsyncIterator(), share: share, channel: channel)
    }
}

extension Request {
    /// Whether the header announces a body.
    private var announcesBody: Bool {
        headers[.transferEncoding] != nil || headers[.contentLength].map { $0 != "0" } ?? false
    }

    /// Meters the body, if there is one.
    mutating func meterBody(by budget: BodyBudget, from channel: any Channel) -> BodyShare? {
        guard announcesBody else { return nil }
        // A body in chunks announces no length, whatever else the header says.
        let isChunked = headers[.transferEncoding] != nil
        let length = isChunked ? nil : headers[.contentLength].flatMap(Int.init)
        let share = BodyShare(of: budget, length: length)
        body = RequestBody(
            asyncSequence: MeteredBody(parts: body, share: share, channel: channel))
        return share
    }
}

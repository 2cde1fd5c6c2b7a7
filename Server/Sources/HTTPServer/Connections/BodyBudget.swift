import Hummingbird
import NIOCore
import Synchronization

/// The maximum number of bytes of request bodies in memory at one time. Beyond it, requests with a
/// body are rejected with 503.
package struct BodyLimits: Hashable, Sendable {
    /// The limit for all requests together, in bytes.
    package var bytesMax = 134_217_728
    /// The limit for requests without a valid key, such as notifications and verifyReceipt, in
    /// bytes. Enough for a notification of the usual size on each of
    /// ``PerennialServer/connectionsMax`` connections.
    package var bytesWithoutKeyMax = 67_108_864

    package init() {}
}

/// Counts the bytes of all request bodies in memory, and enforces ``BodyLimits``.
final class BodyBudget: Sendable {
    struct Usage: Hashable, Sendable {
        var bytesWithKey = 0
        var bytesWithoutKey = 0
        /// Requests rejected since the start.
        var refusedWithKey = 0
        var refusedWithoutKey = 0
    }

    let limits: BodyLimits
    private let state = Mutex(Usage())

    init(_ limits: BodyLimits) { self.limits = limits }

    var usage: Usage { state.withLock { $0 } }

    /// Adds bytes and returns true, unless that would exceed the limits.
    fileprivate func add(_ bytes: Int, hasKey: Bool) -> Bool {
        state.withLock { usage in
            let isWithin =
                usage.bytesWithKey + usage.bytesWithoutKey + bytes <= limits.bytesMax
                && (hasKey || usage.bytesWithoutKey + bytes <= limits.bytesWithoutKeyMax)
            switch (isWithin, hasKey) {
            case (true, true): usage.bytesWithKey += bytes
            case (true, false): usage.bytesWithoutKey += bytes
            case (false, true): usage.refusedWithKey += 1
            case (false, false): usage.refusedWithoutKey += 1
            }
            return isWithin
        }
    }

    fileprivate func remove(_ bytes: Int, hasKey: Bool) {
        state.withLock { usage in
            if hasKey { usage.bytesWithKey -= bytes } else { usage.bytesWithoutKey -= bytes }
        }
    }
}

/// One request's share of the budget. It grows as the body arrives, and is released when the
/// response has been made.
final class BodyShare: Sendable {
    private struct State {
        var hasKey = false
        var bytes = 0
    }

    private let budget: BodyBudget
    private let state = Mutex(State())

    init(of budget: BodyBudget) { self.budget = budget }

    /// From now on the larger limit applies. Call this before the body is read.
    func applyKeyedLimit() { state.withLock { $0.hasKey = $0.bytes == 0 } }

    /// - Throws: ``ProblemError`` if too many bytes are in memory already.
    func add(_ bytes: Int) throws {
        let isWithin = state.withLock { state in
            guard budget.add(bytes, hasKey: state.hasKey) else { return false }
            state.bytes += bytes
            return true
        }
        guard isWithin else { throw ProblemError.tooManyBodyBytes }
    }

    func release() {
        state.withLock { state in
            budget.remove(state.bytes, hasKey: state.hasKey)
            state.bytes = 0
        }
    }
}

/// A request's body. Its bytes count against the budget. Only when somebody reads the body does the
/// connection continue reading, or tell the client to send it: see ``ConnectionHandler``.
struct MeteredBody: AsyncSequence, Sendable {
    typealias Element = ByteBuffer

    let parts: RequestBody
    let share: BodyShare
    let channel: any Channel

    struct Iterator: AsyncIteratorProtocol {
        var parts: RequestBody.AsyncIterator
        let share: BodyShare
        /// Nil once the body has been requested.
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
        let share = BodyShare(of: budget)
        body = RequestBody(
            asyncSequence: MeteredBody(parts: body, share: share, channel: channel))
        return share
    }
}

extension ProblemError {
    fileprivate static var tooManyBodyBytes: ProblemError {
        ProblemError(
            .serverBusy, "The server holds too many request bodies at the moment.",
            remedy: "Send the same request again later.")
    }
}

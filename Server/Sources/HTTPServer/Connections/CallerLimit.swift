import Logging
import Synchronization

/// A limit for one caller, which is a key or an address. This type does not include the limits for
/// the whole server. The raw value is the limit's name in problems, in metrics, in the log, and
/// below `limits` in the configuration.
enum CallerLimit: String, CaseIterable, Sendable {
    case requestsOfAddress = "requests_of_address"
    case requestsWithoutKeyOfAddress = "requests_without_key_of_address"
    case requestsOfAppKey = "requests_of_app_key"
    case requestsOfSecretKey = "requests_of_secret_key"
    case waitsOfKey = "waits_of_key"
    case streamsOfKey = "streams_of_key"
    case connectionsOfAddress = "connections_of_address"
    case halfSentRequestsOfAddress = "half_sent_requests_of_address"

    /// The limit as a sentence.
    func sentence(max: Int) -> String {
        switch self {
        case .requestsOfAddress:
            "At most \(max) requests a minute are accepted from one address."
        case .requestsWithoutKeyOfAddress:
            "At most \(max) requests a minute without a known key are accepted from one address."
        case .requestsOfAppKey:
            "At most \(max) requests a minute are accepted with one app key."
        case .requestsOfSecretKey:
            "At most \(max) requests a minute are accepted with one secret key."
        case .waitsOfKey: "At most \(max) requests with one key may wait at one time."
        case .streamsOfKey: "At most \(max) event streams with one key may be open at one time."
        case .connectionsOfAddress:
            "At most \(max) connections from one address may be open at one time, and each open "
                + "request with HTTP/2 counts as another one."
        case .halfSentRequestsOfAddress:
            "At most \(max) heads of requests from one address may be incomplete at one time."
        }
    }

    /// What a client can do instead of waiting. Nil if it can only wait.
    var alternative: String? {
        switch self {
        case .waitsOfKey: "Or leave out wait."
        case .streamsOfKey:
            "Or close unused streams. GET /v1/events?wait=30 gives the same events without a "
                + "stream."
        case .requestsOfAddress, .requestsWithoutKeyOfAddress, .requestsOfAppKey,
            .requestsOfSecretKey, .connectionsOfAddress, .halfSentRequestsOfAddress:
            nil
        }
    }
}

/// Counts the refusals because of each ``CallerLimit``. Warns about them in the log, at most once a
/// minute for each limit.
final class LimitRefusals: Sendable {
    /// The minimum time between two warnings about the same limit.
    static let warningPause = Duration.seconds(60)

    private struct State {
        var counts: [CallerLimit: Int] = [:]
        var warnedAt: [CallerLimit: ContinuousClock.Instant] = [:]
    }

    private let logger: Logger
    private let state = Mutex(State())

    init(_ logger: Logger) { self.logger = logger }

    /// The number of refusals because of each limit since the start.
    var counts: [CallerLimit: Int] { state.withLock { $0.counts } }

    /// Records one refusal.
    ///
    /// - Parameter max: the limit.
    /// - Parameter caller: the address, or the beginning of the key's hash.
    func record(
        _ limit: CallerLimit, max: Int, of caller: @autoclosure () -> String,
        at now: ContinuousClock.Instant = .now
    ) {
        let isDue = state.withLock { state in
            state.counts[limit, default: 0] += 1
            if let last = state.warnedAt[limit], now - last < Self.warningPause { return false }
            state.warnedAt[limit] = now
            return true
        }
        guard isDue else { return }
        logger.warning(
            "a caller has reached a limit, so further requests or connections are refused",
            metadata: [
                "limit": .string(limit.rawValue), "caller": .string(caller()),
                "max": .stringConvertible(max),
            ])
    }
}

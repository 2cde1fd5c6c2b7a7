import Engine
import HTTPTypes
import Hummingbird
import Ledger
import Storage
import Synchronization

/// How many requests one caller may send in a minute. A caller may also send them all at once. Zero
/// means that there is no limit.
///
/// The defaults are for a million customers whose requests all come from one address, because the
/// server may not know their proxy. docs/operations.md has the calculation.
package struct RequestLimits: Hashable, Sendable {
    /// The limit of requests with known app keys from one address, or from one network of IPv6
    /// addresses.
    package var ofAddress = 240_000
    /// The limit, for one address, of requests whose key is missing or unknown. These requests do
    /// not count against ``ofAddress``, so that a stranger cannot shut out the customers behind the
    /// same address.
    package var withoutKeyOfAddress = 60_000
    /// The limit of one app key, or of all of RevenueCat's public keys that belong to one app. It
    /// is ten times ``ofAddress``, so that one network cannot use up the limit of an app's key.
    package var ofAppKey = 2_400_000
    package var ofSecretKey = 0

    package init() {}
}

/// Counts the requests of each address and of each key, and refuses those beyond ``RequestLimits``.
/// Each server counts its own requests.
final class RequestMeter: Sendable {
    static let minute = Duration.seconds(60)
    /// The maximum number of addresses that are counted at one time. Requests with known keys and
    /// requests without known keys have separate counts. Each address takes about 100 bytes, so
    /// each count takes about 7 MB.
    static let addressesMax = 65_536
    /// How many keys of one kind are counted at one time.
    static let keysMax = 1_024

    /// The holder of keys whose requests share one budget.
    private enum KeyHolder: Hashable {
        case key([UInt8])
        /// An app's public keys of RevenueCat. These keys have no hash.
        case app(AppID)
    }

    private let limits: RequestLimits
    private let refusals: LimitRefusals
    private let addresses: Mutex<RequestBudgets<String>>
    private let addressesWithoutKey: Mutex<RequestBudgets<String>>
    private let appKeys: Mutex<RequestBudgets<KeyHolder>>
    private let secretKeys: Mutex<RequestBudgets<KeyHolder>>

    init(_ limits: RequestLimits, _ refusals: LimitRefusals) {
        self.limits = limits
        self.refusals = refusals
        addresses = Mutex(
            RequestBudgets(perMinute: limits.ofAddress, callersMax: Self.addressesMax))
        addressesWithoutKey = Mutex(
            RequestBudgets(
                perMinute: limits.withoutKeyOfAddress, callersMax: Self.addressesMax))
        appKeys = Mutex(RequestBudgets(perMinute: limits.ofAppKey, callersMax: Self.keysMax))
        secretKeys = Mutex(
            RequestBudgets(perMinute: limits.ofSecretKey, callersMax: Self.keysMax))
    }

    var limitsAddresses: Bool { limits.ofAddress > 0 || limits.withoutKeyOfAddress > 0 }

    /// Counts a request from an address.
    ///
    /// - Parameter network: see ``CanonicalAddress/network``.
    /// - Parameter hasKey: whether the request has a key that the server knows.
    /// - Throws: ``ProblemError`` if the address has sent too many of these requests.
    func count(
        from network: String, hasKey: Bool, at now: ContinuousClock.Instant = .now
    ) throws(ProblemError) {
        let (limit, max) =
            hasKey
            ? (CallerLimit.requestsOfAddress, limits.ofAddress)
            : (CallerLimit.requestsWithoutKeyOfAddress, limits.withoutKeyOfAddress)
        guard max > 0 else { return }
        let wait =
            hasKey
            ? addresses.withLock { $0.consume(for: network, at: now) }
            : addressesWithoutKey.withLock { $0.consume(for: network, at: now) }
        guard let wait else { return }
        throw refusal(limit, max, of: network, after: wait, now)
    }

    /// Counts a request with a key.
    ///
    /// - Throws: ``ProblemError`` if too many were sent with the key.
    func count(
        with key: StoredKey, at now: ContinuousClock.Instant = .now
    ) throws(ProblemError) {
        let (limit, max) =
            switch key.kind {
            case .app: (CallerLimit.requestsOfAppKey, limits.ofAppKey)
            case .secret: (CallerLimit.requestsOfSecretKey, limits.ofSecretKey)
            }
        guard max > 0 else { return }
        let holder = key.hash.isEmpty ? KeyHolder.app(key.app) : .key(key.hash)
        let wait =
            switch key.kind {
            case .app: appKeys.withLock { $0.consume(for: holder, at: now) }
            case .secret: secretKeys.withLock { $0.consume(for: holder, at: now) }
            }
        guard let wait else { return }
        throw refusal(limit, max, of: key.limitedName, after: wait, now)
    }

    private func refusal(
        _ limit: CallerLimit, _ max: Int, of caller: String, after wait: Duration,
        _ now: ContinuousClock.Instant
    ) -> ProblemError {
        refusals.record(limit, max: max, of: caller, at: now)
        return ProblemError(limit, max: max, retryAfter: wait)
    }
}

extension StoredKey {
    /// The key as a log names it: its app, and the beginning of its hash.
    var limitedName: String {
        "\(app) \(Hexadecimal.text(hash).prefix(EventAuthor.keyDigitsCount))"
    }
}

extension RequestAuthorization {
    /// Counts a request against the limit of its client's address. Requests with a known app key
    /// and requests without a known key have separate counts. Requests with a known secret key are
    /// not counted. So a stranger without a key cannot shut out the customers or the backend behind
    /// the same proxy. Requests from this machine or from a trusted proxy are not counted if they
    /// name no other client, because they are the requests of many clients.
    ///
    /// - Throws: ``ProblemError`` if the address has sent too many requests.
    func countAddress(of request: Request, _ context: ServerContext) throws {
        guard server.meter.limitsAddresses, let network = network(of: request, context) else {
            return
        }
        let kind = BearerKey(request.headers).flatMap { knownKind(of: $0.text) }
        guard kind != .secret else { return }
        try server.meter.count(from: network, hasKey: kind == .app)
    }

    private func knownKind(of key: String) -> KeyKind? {
        server.keys.knownKind(of: key)
            ?? (engine.context.app(ofRevenueCatKey: key) == nil ? nil : .app)
    }

    /// The network of a request's client. Returns nil if its requests are not counted.
    private func network(of request: Request, _ context: ServerContext) -> String? {
        let proxy = server.dashboard?.proxy
        guard let peer = context.channel.remoteAddress.flatMap(CanonicalAddress.init) else {
            return nil
        }
        let client =
            proxy?.client(of: request, from: peer.description).flatMap { CanonicalAddress($0) }
            ?? peer
        let isShared =
            client.isLoopback || proxy?.addresses.contains(client.description) ?? false
        return isShared ? nil : client.network
    }

    /// Returns the holder of the key in a request, and counts the request against the limit of the
    /// key.
    ///
    /// - Throws: ``ProblemError``, as ``holder(of:for:)`` does, or if too many requests were sent
    ///   with the key.
    func caller(of request: Request, for scope: KeyScope) async throws -> StoredKey {
        let holder = try await holder(of: request, for: scope)
        try server.meter.count(with: holder)
        return holder
    }
}

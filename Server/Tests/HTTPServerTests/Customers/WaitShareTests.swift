import Engine
import Ledger
import Logging
import PerennialContract
import Storage
import Testing

@testable import HTTPServer

/// How many requests may wait at the same time.
@Suite struct WaitShareTests {
    private static func key(_ number: UInt8, _ kind: KeyKind) -> StoredKey {
        StoredKey(
            app: "birds", hash: [number], kind: kind, name: "test",
            createdAt: Instant(milliseconds: 0))
    }

    private static let refusals = LimitRefusals(
        Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })

    /// The other limits are those of the server, so that answer is 503.
    @Test(arguments: [(3, .secret, true), (4, .app, false)] as [(Int, KeyKind, Bool)])
    func `a refused wait gets 429 if the key's own limit is reached, and otherwise 503`(
        count: Int, kind: KeyKind, isOfKey: Bool
    ) async throws {
        let waits = CustomerWait(
            Self.limits(all: 5, app: 4, key: isOfKey ? count : 5), Self.refusals)
        let refused = try await Self.refusal(
            waits, ArraySlice(repeating: Self.key(1, kind), count: count + 1))
        #expect(refused?.problem.status == (isOfKey ? 429 : 503))
    }

    /// Starts one wait for each key. Returns the first refusal.
    private static func refusal(
        _ waits: CustomerWait, _ keys: ArraySlice<StoredKey>
    ) async throws -> ProblemError? {
        guard let key = keys.first else { return nil }
        do {
            return try await waits.reserve(for: key) {
                try await refusal(waits, keys.dropFirst())
            }
        } catch let refused as ProblemError { return refused }
    }

    private static func limits(all: Int, app: Int, key: Int) -> WaitLimits {
        var limits = WaitLimits()
        (limits.waitsMax, limits.waitsWithAppKeysMax, limits.waitsOfKeyMax) = (all, app, key)
        return limits
    }

    /// Starts one wait for each key, all of them at the same time. Returns the number of refused
    /// waits.
    private func refusals(
        _ waits: CustomerWait, _ keys: ArraySlice<StoredKey>
    ) async throws -> Int {
        guard let key = keys.first else { return 0 }
        do {
            return try await waits.reserve(for: key) {
                try await refusals(waits, keys.dropFirst())
            }
        } catch let refused as ProblemError {
            let isOfKey = refused.problem.code == .limitReached
            #expect(isOfKey || refused.problem.code == .serverBusy)
            #expect(refused.problem.limit == (isOfKey ? "waits_of_key" : nil))
            #expect(refused.headers[.retryAfter] == "30")
            return try await refusals(waits, keys.dropFirst()) + 1
        }
    }

    @Test(
        arguments: [
            // The limit of all waits together.
            ([(1, .secret, 3), (2, .secret, 3)], 1),
            // Waiting requests with app keys leave room for requests with secret keys, even if they
            // come first.
            ([(1, .app, 3), (2, .app, 3), (3, .secret, 1)], 2),
            ([(3, .secret, 1), (1, .app, 3), (2, .app, 3)], 2),
            // Waiting requests with one key leave room for requests with other keys.
            ([(1, .app, 5), (2, .app, 1), (3, .secret, 1)], 2),
            ([(1, .secret, 5), (2, .secret, 2)], 2),
            ([(1, .app, 2), (2, .app, 2), (3, .secret, 1)], 0),
        ] as [([(UInt8, KeyKind, Int)], Int)])
    func `waiting requests are limited in total, for each key, and for all app keys together`(
        waiting: [(UInt8, KeyKind, Int)], refused: Int
    ) async throws {
        let waits = CustomerWait(Self.limits(all: 5, app: 4, key: 3), Self.refusals)
        let keys = waiting.flatMap { number, kind, count in
            Array(repeating: Self.key(number, kind), count: count)
        }
        #expect(try await refusals(waits, keys[...]) == refused)
        #expect(waits.waitingCount == 0)
    }

    @Test func `with the default limits, one key's waiting requests leave room for other keys`() {
        let limits = WaitLimits()
        #expect(limits.waitsOfKeyMax < limits.waitsWithAppKeysMax)
        #expect(limits.waitsWithAppKeysMax < limits.waitsMax)
    }

    /// By default, nginx ends a request after 60 seconds without a response, and Debian's HAProxy
    /// after 50.
    @Test func `a wait ends before proxies end it, even if the client has asked for a longer wait`()
        async throws
    {
        #expect(WaitLimits().holdMax <= .seconds(45))
        var waits = WaitLimits()
        waits.holdMax = .seconds(1)
        try await ListeningServer.run(waits: waits) { server in
            let connection = try server.connect()
            let began = ContinuousClock.now
            try connection.sendAll(
                RequestText.get(
                    "/v1/customers/anna?wait=60",
                    RequestText.key + "if-none-match: *\r\nconnection: close\r\n"))
            #expect(try await connection.receivedUntilEnd().hasPrefix("HTTP/1.1 304 "))
            #expect(ContinuousClock.now - began < .seconds(40))
        }
    }
}

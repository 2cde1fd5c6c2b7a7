import AsyncHTTPClient
import Foundation
import Ledger
import Logging
import NIOCore
import PerennialContract
import ServiceLifecycle
import Synchronization

/// Follows the clock of a simulator in another process by polling it.
final class ClockFollower: Service {
    static let pause = Duration.milliseconds(200)
    static let timeoutSeconds: Int64 = 30
    static let bytesMax = 65_536

    private let client: HTTPClient
    private let url: String
    private let logger: Logger
    private let latest: Mutex<Instant>

    /// Fetches the simulator's time once.
    ///
    /// - Throws: ``StartFailure`` if no simulator responds.
    init(_ url: String, client: HTTPClient, logger: Logger) async throws {
        self.url = url.hasSuffix("/") ? String(url.dropLast()) : url
        self.client = client
        self.logger = logger
        latest = Mutex(Instant(milliseconds: 0))
        try await fetch()
    }

    /// The simulator's time as of its last response.
    var now: Instant { latest.withLock { $0 } }

    /// The root certificate of the simulator's signatures.
    func root() async throws -> [UInt8] { Array(try await bytes(at: "/_sim/root.cer")) }

    /// The root certificate of the simulator's receipts.
    func receiptRoot() async throws -> [UInt8] {
        Array(try await bytes(at: "/_sim/receipt-root.cer"))
    }

    func run() async throws {
        await cancelWhenGracefulShutdown {
            while (try? await Task.sleep(for: Self.pause)) != nil { await self.refresh() }
        }
    }

    /// Updates the time. If the simulator does not respond, the time stays unchanged.
    func refresh() async {
        do { try await fetch() } catch {
            logger.warning("reading the simulator's clock failed", metadata: ["error": "\(error)"])
        }
    }

    private func fetch() async throws {
        struct Clock: Decodable { var now: Timestamp }
        let clock = try JSONDecoder().decode(Clock.self, from: try await bytes(at: "/_sim/clock"))
        latest.withLock { $0 = Instant(milliseconds: clock.now.milliseconds) }
    }

    private func bytes(at path: String) async throws -> Data {
        do {
            let answer = try await client.execute(
                HTTPClientRequest(url: url + path), timeout: .seconds(Self.timeoutSeconds))
            guard answer.status == .ok else { throw StartFailure("\(answer.status)", remedy: "") }
            return Data((try await answer.body.collect(upTo: Self.bytesMax)).readableBytesView)
        } catch {
            throw StartFailure(
                "There is no simulator at \(url)\(path): \(error).",
                remedy: "Start one with `perennial simulate`.")
        }
    }
}

import Foundation
import Testing

@testable import Perennial
@testable import PerennialContract

/// An app with a store, a server and a clock in memory. The object records everything that the app
/// ever showed.
final class AnsweredApp: Sendable {
    let clock: VirtualClock
    let store: ListedStore
    let server: LateServer
    let folder: TemporaryFolder
    let perennial: Perennial
    /// The answers about `pro` that the app showed, the first one first.
    private let shown = Locked<[Perennial.Access]>([])
    private let watching: Task<Void, Never>
    /// The customer id of the last snapshot, which only ``stop()`` shows.
    private static let end = "the end"

    /// - Parameter folder: the folder of an earlier launch. If nil, the app is a new installation.
    init(
        _ store: ListedStore, _ server: LateServer, in folder: TemporaryFolder? = nil,
        _ change: (inout Perennial.Configuration) -> Void = { _ in }
    ) throws {
        self.store = store
        self.server = server
        clock = server.clock
        self.folder = try folder ?? TemporaryFolder(server: "http://late.test")
        var configuration = Perennial.Configuration(
            server: URL(string: "http://late.test")!, key: "pk_birds")
        configuration.folder = self.folder.url
        configuration.trustedKeys = server.signer.map { [$0.trusted] } ?? []
        configuration.log = Perennial.LogHandler(level: .error) { _, _, _ in }
        change(&configuration)
        let perennial = Perennial(
            configuration, store: store, clock: clock, files: DeviceFiles(configuration),
            transport: server.send)
        self.perennial = perennial
        let shown = shown
        shown.withLock { $0.append(perennial["pro"]) }
        let changes = perennial.publisher.changes(buffering: .unbounded)
        watching = Task {
            for await snapshot in changes {
                guard snapshot.customer.id != Self.end else { return }
                shown.withLock { $0.append(snapshot["pro"]) }
            }
        }
    }

    /// The answers about `pro` that the app has shown, without repetitions.
    var answers: [AnswerRow.Answer] {
        shown.withLock { $0 }.map(AnswerRow.Answer.init).reduce(into: []) { answers, answer in
            if answers.last != answer { answers.append(answer) }
        }
    }

    var pro: AnswerRow.Answer { AnswerRow.Answer(perennial["pro"]) }

    var engine: Engine {
        get throws { try #require(perennial.engine) }
    }

    /// Waits until the store was read.
    func untilStoreIsRead() async throws {
        let engine = try engine
        try await eventually("the store was read") { await engine.state.isStoreRead }
    }

    /// Lets the server answer, one request after the other, until it has nothing more to answer.
    func untilAnswered(_ delay: Int64) async throws {
        let engine = try engine
        try await eventually("the server has answered everything") {
            if delay > 0, server.underWay > 0 { clock.advance(milliseconds: delay) }
            return await engine.isAtRest && server.underWay == 0
        }
    }

    /// Runs a closure while the server answers, one request after the other.
    func whileAnswered<Value: Sendable>(
        _ delay: Int64, _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        let isDone = Locked(false)
        let doing = Task {
            defer { isDone.withLock { $0 = true } }
            return try await body()
        }
        try await eventually("the call has returned") {
            if delay > 0, server.underWay > 0 { clock.advance(milliseconds: delay) }
            return isDone.withLock { $0 }
        }
        let value = try await doing.value
        try await untilAnswered(delay)
        return value
    }

    /// Ends the app. Afterwards ``answers`` has everything that the app has shown.
    func stop() async throws {
        await perennial.stop()
        var mark = perennial.snapshot
        mark.customer.id = Self.end
        perennial.publisher.show(mark)
        await watching.value
    }
}

extension Engine {
    /// Whether the server has sent all answers, and has received everything that the app must send.
    fileprivate var isAtRest: Bool {
        get async {
            guard state.answer != nil, !session.requires(.customer), !posting.isPosting,
                state.areOfferingsCurrent,
                let outbox
            else { return false }
            return await outbox.entries.isEmpty
        }
    }
}

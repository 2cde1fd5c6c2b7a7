import AppStoreFormats
import Foundation
import Synchronization
import Testing

@testable import AppStoreClient

/// A store with fixed responses, which records its requests.
private final class StubStore: Sendable {
    let asked = Mutex<[AppStoreRequest]>([])
    private let answers: [StoreEnvironment: [UInt8]]
    private let status: Int

    init(_ answers: [StoreEnvironment: String], status: Int = 200) {
        self.answers = answers.mapValues { Array($0.utf8) }
        self.status = status
    }

    var verification: VerifyReceiptClient {
        VerifyReceiptClient(
            AppSecret("c0ffee"), now: { AppStoreDate(milliseconds: 0) },
            send: { request in
                self.asked.withLock { $0.append(request) }
                return AppStoreResponse(
                    status: self.status, body: self.answers[request.environment] ?? [])
            })
    }

    var environments: [StoreEnvironment] { asked.withLock { $0.map(\.environment) } }
}

@Suite struct ReceiptVerificationTests {
    private func failure(
        _ store: StubStore, first: StoreEnvironment = .production
    ) async -> AppStoreFailure? {
        do {
            _ = try await store.verification.response(about: "MIIB", first: first)
            return nil
        } catch { return error }
    }

    @Test func `verifyReceipt gets the receipt and the shared secret, but no key`() async throws {
        let store = StubStore([.production: #"{"status": 0}"#])
        let answer = try await store.verification.response(
            about: "MIIB", excludesOldTransactions: true)
        #expect(answer.environment == .production)
        let request = try #require(store.asked.withLock { $0.first })
        #expect(request.method == "POST" && request.path == "/verifyReceipt")
        #expect(request.authorization == nil)
        let body = try JSON(parsing: request.body ?? [])
        #expect(
            body == [
                "receipt-data": "MIIB", "password": "c0ffee", "exclude-old-transactions": true,
            ])
        _ = try await store.verification.response(about: "MIIB")
        let second = try #require(store.asked.withLock { $0.last?.body })
        #expect(try JSON(parsing: second)["exclude-old-transactions"] == nil)
    }

    @Test(arguments: [StoreEnvironment.production, .sandbox])
    func `if the first environment refers a receipt to the second, the receipt is sent there`(
        first: StoreEnvironment
    ) async throws {
        let other: StoreEnvironment = first == .production ? .sandbox : .production
        let status = first == .production ? 21007 : 21008
        let store = StubStore([first: "{\"status\": \(status)}", other: #"{"status": 0}"#])
        let answer = try await store.verification.response(about: "MIIB", first: first)
        #expect(answer.environment == other && store.environments == [first, other])
    }

    @Test func `if production and sandbox refer a receipt to each other, each is asked only once`()
        async throws
    {
        let store = StubStore([
            .production: #"{"status": 21007}"#, .sandbox: #"{"status": 21008}"#,
        ])
        guard case .refused(21008, _)? = await failure(store) else {
            Issue.record("not refused")
            return
        }
        #expect(store.environments == [.production, .sandbox])
    }

    private enum Kind { case usable, unavailable, refused, unauthorized, unknown, unreadable }

    private static let statuses: [(String, Kind)] = [
        (#"{"status": 0}"#, .usable), (#"{"status": "0"}"#, .usable),
        (#"{"status": 21006, "receipt": {}}"#, .usable), (#"{"status": 21000}"#, .refused),
        (#"{"status": 21002}"#, .refused), (#"{"status": 21003}"#, .refused),
        (#"{"status": 21004, "environment": "Production"}"#, .unauthorized),
        (#"{"status": 21005}"#, .unavailable), (#"{"status": 21009}"#, .unavailable),
        (#"{"status": 21010, "is_retryable": false}"#, .unknown),
        (#"{"status": 21100, "is-retryable": true}"#, .unavailable),
        (#"{"status": 21150, "is-retryable": "1"}"#, .unavailable),
        (#"{"status": 21150, "is_retryable": 1}"#, .unavailable),
        (#"{"status": 21199, "is-retryable": false}"#, .refused),
        (#"{"status": 21199, "is-retryable": "0"}"#, .refused),
        (#"{"status": 21199}"#, .refused), (#"{"status": 29999}"#, .refused),
        (#"{}"#, .unreadable), ("<html>", .unreadable), ("", .unreadable),
    ]

    @Test func `each status of verifyReceipt leads to a result, another attempt, or a failure`()
        async
    {
        for (body, expected) in Self.statuses {
            let found: Kind =
                switch await failure(StubStore([.production: body])) {
                case nil: .usable
                case .unavailable?: .unavailable
                case .refused?: .refused
                case .unauthorized?: .unauthorized
                case .unknownID?: .unknown
                case .unreadable?: .unreadable
                case .rateLimited?: .unavailable
                }
            #expect(found == expected, "\(body)")
        }
    }

    @Test(arguments: [
        (#"{"status": 21004}"#, 200, "App-Specific Shared Secret"),
        (#"{"status": 21003}"#, 200, "verifyReceipt"), ("{}", 401, "proxy"),
    ])
    func `the remedy of a verifyReceipt failure is about the request and mentions no key`(
        body: String, status: Int, says: String
    ) async throws {
        let failure = try #require(await failure(StubStore([.production: body], status: status)))
        #expect(failure.remedy.contains(says))
        #expect(!"\(failure) \(failure.remedy)".contains("key"))
    }

    @Test func `an HTTP error means that the store is unavailable`() async {
        for (status, isTooMany) in [(500, false), (503, false), (429, true)] {
            switch await failure(StubStore([.production: "{}"], status: status)) {
            case .unavailable?: #expect(!isTooMany)
            case .rateLimited?: #expect(isTooMany)
            case let other: Issue.record("\(String(describing: other)) for \(status)")
            }
        }
    }
}

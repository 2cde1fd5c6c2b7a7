import AppStoreClient
import AppStoreFormats
import AppStoreTrust
import Engine
import Foundation
import Ledger
import Logging
import Storage
import StorageSQLite
import Synchronization
import Testing

private let now = Instant(milliseconds: 1_790_000_000_000)
private let secret = "c0ffee00c0ffee00c0ffee00c0ffee00"

/// Receipts that Apple signed, and Apple's answers to them. These files are not part of this
/// repository.
private enum Golden {
    static let directory = URL(
        filePath: ProcessInfo.processInfo.environment["PERENNIAL_VECTORS"] ?? "../shared/vectors",
        relativeTo: (1...4).reduce(URL(filePath: #filePath)) { url, _ in
            url.deletingLastPathComponent()
        }
    ).appending(path: "receipts")

    static var arePresent: Bool { FileManager.default.fileExists(atPath: directory.path) }

    static func text(_ name: String) throws -> String {
        let data = try Data(contentsOf: directory.appending(path: "app-receipts/\(name).b64"))
        return String(decoding: data, as: UTF8.self)
    }

    static func answer(_ name: String) throws -> JSON {
        let path = "expected/\(name).verifyReceipt.json"
        return try JSON(parsing: Array(Data(contentsOf: directory.appending(path: path))))
    }

    static let pairs = [
        ("linjunpop-receipt", "com.sumiapp.GridDiary"),
        ("linjunpop-auto_renewable_receipt", "com.sumiapp.GridDiary"),
        ("revenuecat-base64encodedreceiptsample1", "com.revenuecat.sampleapp"),
    ]
}

/// An engine for one bundle, with Apple's roots and an App Store that gives one answer.
private func goldenEngine(_ bundle: String, appleSays answer: JSON? = nil) async throws -> Engine {
    guard let body = answer?.bytes else { return try await goldenEngine(bundle, send: nil) }
    return try await goldenEngine(
        bundle, send: { _ in AppStoreResponse(status: 200, body: body) })
}

/// An engine for one bundle, with Apple's roots. The closure `send` gives the App Store's answers.
/// If `send` is nil, no App Store is configured.
private func goldenEngine(
    _ bundle: String, send: (@Sendable (AppStoreRequest) async throws -> AppStoreResponse)?
) async throws -> Engine {
    let app = AppSettings(
        id: "golden", bundleID: bundle, sharedSecret: AppSecret(secret), entitlements: [:])
    var reconciliation = ReconciliationSettings(
        worker: CheckWorker(holder: "test", lease: ReconciliationSettings.lease, checksPerSecond: 1)
    ) { _ in nil }
    if let send {
        reconciliation.receiptVerification = { _ in
            VerifyReceiptClient(
                AppSecret(secret), now: { AppStoreDate(milliseconds: 0) }, send: send)
        }
    }
    let engine = Engine(
        database: try SQLiteDriver.inMemory(), apps: [app],
        verifiers: ["golden": Verifier(roots: .apple)], now: { now },
        reconciliation: reconciliation,
        logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    try await engine.prepare()
    return engine
}

extension JSON {
    /// Returns an answer without the date of the request and with sorted keys, because Apple's own
    /// servers order the keys differently.
    fileprivate var settled: JSON {
        switch self {
        case .object(let members):
            let kept = members.filter { !$0.key.hasPrefix("request_date") }
            return .object(
                kept.map { JSON.Member($0.key, $0.value.settled) }.sorted { $0.key < $1.key })
        case .array(let values): return .array(values.map(\.settled))
        default: return self
        }
    }
}

@Suite struct VerifyReceiptTests {
    private func ask(
        _ engine: Engine, _ receipt: String, password: String? = secret,
        at store: Ledger.Environment = .sandbox
    ) async throws -> JSON {
        var members = [JSON.Member("receipt-data", .string(receipt))]
        if let password { members.append(JSON.Member("password", .string(password))) }
        let body = JSON.object(members).bytes
        return try JSON(parsing: await engine.legacy.verifyReceipt(body, at: store))
    }

    @Test(.enabled(if: Golden.arePresent, "skipped: no vectors"), arguments: Golden.pairs)
    func `our answer for a receipt equals Apple's answer in content and order`(
        name: String, bundle: String
    ) async throws {
        let apple = try Golden.answer(name)
        let ours = try await ask(goldenEngine(bundle), Golden.text(name))
        #expect(ours["status"] == 0 && ours["environment"] == "Sandbox")
        #expect(ours["receipt"]?.settled == apple["receipt"]?.settled)
        #expect(ours["receipt"]?["in_app"] == apple["receipt"]?["in_app"], "with the order of keys")
    }

    @Test(.enabled(if: Golden.arePresent, "skipped: no vectors"), arguments: Golden.pairs)
    func `if Apple was asked, our answer equals Apple's whole answer`(
        name: String, bundle: String
    ) async throws {
        let apple = try Golden.answer(name)
        let engine = try await goldenEngine(bundle, appleSays: apple)
        #expect(try await ask(engine, Golden.text(name)).settled == apple.settled)
        #expect(try await ask(engine, Golden.text(name)).settled == apple.settled, "and again")
    }

    @Test(.enabled(if: Golden.arePresent, "skipped: no vectors"))
    func `failures of verifyReceipt are reported with Apple's status codes`() async throws {
        let (name, bundle) = Golden.pairs[2]
        let receipt = try Golden.text(name)
        let engine = try await goldenEngine(bundle)
        #expect(try await ask(engine, receipt, at: .production) == ["status": 21007])
        let denied: JSON = ["environment": "Sandbox", "status": 21004]
        #expect(try await ask(engine, receipt, password: nil).settled == denied)
        #expect(try await ask(engine, receipt, password: "c0ffee").settled == denied)
        #expect(try await ask(engine, "foobar") == ["status": 21002])
        #expect(try await ask(engine, "") == ["status": 21002])
        let other = try await goldenEngine("com.example.other")
        #expect(try await ask(other, receipt) == ["status": 21003])
        let xcode = try Golden.text("tpinappreceipt-receipt-xcode")
        #expect(try await ask(engine, xcode) == ["status": 21002])
        for body in ["", "{", "[]", #"{"receipt-data": 7}"#] {
            let answer = try JSON(
                parsing: await engine.legacy.verifyReceipt(Array(body.utf8), at: .sandbox))
            let expected: JSON = body.hasPrefix("{\"") ? 21002 : 21000
            #expect(answer == ["status": expected], "\(body)")
        }
    }

    @Test(.enabled(if: Golden.arePresent, "skipped: no vectors"))
    func `a receipt with a changed byte is not authentic`() async throws {
        let (name, bundle) = Golden.pairs[2]
        var file = try #require(ReceiptText.bytes(of: Golden.text(name)))
        let place = try #require(
            file.indices.first { file[$0...].starts(with: Array("2020-".utf8)) })
        file[place] ^= 1
        let engine = try await goldenEngine(bundle)
        #expect(try await ask(engine, ReceiptText.text(of: file)) == ["status": 21003])
    }

    @Test(.enabled(if: Golden.arePresent, "skipped: no vectors"))
    func `verifyReceipt returns 21005 during an outage, and our answer after repeated refusals`()
        async throws
    {
        let (name, bundle) = Golden.pairs[2]
        let receipt = try Golden.text(name)
        let silent = try await goldenEngine(
            bundle, send: { _ in AppStoreResponse(status: 503, body: []) })
        for _ in 1...5 { #expect(try await ask(silent, receipt) == ["status": 21005]) }
        // Apple also answers 21002 when it has a temporary failure.
        let refusal: JSON = ["status": 21002]
        let refusing = try await goldenEngine(bundle, appleSays: refusal)
        for _ in 1...2 { #expect(try await ask(refusing, receipt) == ["status": 21005]) }
        let answer = try await ask(refusing, receipt)
        #expect(answer["status"] == 0 && answer["latest_receipt_info"]?.array?.count == 9)
    }
}

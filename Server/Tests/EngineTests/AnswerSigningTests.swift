import AppStoreTrust
import Crypto
import Engine
import Ledger
import Logging
import StorageSQLite
import Synchronization
import Testing

/// The keys that sign answers to RevenueCat's SDK.
@Suite struct AnswerSigningTests {
    /// The day of the first signature, counted from 1970.
    private static let today: Int64 = 20_000
    /// Each row: the days after the first signature, and whether the process still uses its key.
    private static let days: [(later: Int64, isSame: Bool)] = [
        (0, true), (1, true), (15, true), (16, false), (40, false),
    ]

    @Test func `a process replaces its key before the key expires, or if the clock was set back`()
        async throws
    {
        for (later, isSame) in Self.days + [(-3, false)] {
            let moment = Mutex(Instant(milliseconds: Self.today * 86_400_000 + 5))
            let engine = Engine(
                database: try SQLiteDriver.inMemory(),
                apps: [AppSettings(id: "birds", bundleID: "com.example.birds", entitlements: [:])],
                verifiers: ["birds": Verifier(roots: .apple)], now: { moment.withLock { $0 } },
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
            try await engine.prepare()
            let message: @Sendable ([UInt8], UInt32) -> [UInt8] = { key, day in
                key + [UInt8(truncatingIfNeeded: day)]
            }
            let first = try await engine.answerSigning.signer(of: "birds", certified: message)
            #expect(first.lastDay == UInt32(Self.today) + 30)
            moment.withLock { $0 = $0 + .days(Int(later)) }
            let second = try await engine.answerSigning.signer(of: "birds", certified: message)
            #expect((first.publicKey == second.publicKey) == isSame, "after \(later) days")
            let root = try Curve25519.Signing.PublicKey(
                rawRepresentation: try await engine.answerSigning.publicKey(of: "birds"))
            for signer in [first, second] {
                let certified = message(signer.publicKey, signer.lastDay)
                #expect(root.isValidSignature(signer.certificate, for: certified))
                let key = try Curve25519.Signing.PublicKey(rawRepresentation: signer.publicKey)
                #expect(key.isValidSignature(try signer.signature(of: [1, 2]), for: [1, 2]))
                #expect(signer.salt().count == 16 && signer.salt() != signer.salt())
            }
        }
    }
}

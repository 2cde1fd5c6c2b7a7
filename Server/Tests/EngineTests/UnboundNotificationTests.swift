import AppStoreFormats
import AppStoreTrust
import Engine
import Ledger
import Logging
import Signing
import StorageSQLite
import Testing

/// Notifications that name no app, when several apps are configured.
@Suite struct UnboundNotificationTests {
    private static let now = Instant(milliseconds: Moment.year2026.onWire.milliseconds)

    private static func apps(
        trusting authorities: [AppID: Authority]
    ) async throws -> (Engine, SQLiteDriver) {
        let database = try SQLiteDriver.inMemory()
        let engine = Engine(
            database: database,
            apps: authorities.keys.map {
                AppSettings(
                    id: $0, bundleID: "com.example.\($0)", entitlements: ["pro": ["pro.monthly"]])
            },
            verifiers: try authorities.mapValues {
                Verifier(roots: try TrustRoots(der: [$0.root.der]))
            },
            now: { now }, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        try await engine.prepare()
        return (engine, database)
    }

    private static func body(_ info: JSON, by authority: Authority) throws -> [UInt8] {
        let payload: JSON = [
            "notificationType": "UNCLAIM_SEATS", "notificationUUID": "n-1",
            "signedDate": Moment.year2026.onWire.json, "unclaimInfo": info,
        ]
        let body: JSON = ["signedPayload": .string(try authority.signer().text(payload))]
        return body.bytes
    }

    private static func owners(in database: SQLiteDriver) async throws -> [String] {
        try await database.read { connection in
            try connection.texts("SELECT app FROM documents ORDER BY app")
        }
    }

    @Test(
        arguments: [
            (["unclaimSeatIds": ["a"]], true, ["birds", "cats"]),
            (["unclaimSeatIds": ["a"]], false, ["birds"]),
            (["bundleId": "com.example.cats"], true, ["cats"]),
        ] as [(JSON, Bool, [String])])
    func `a notification is recorded for the app it names, or for every app that trusts it`(
        info: JSON, isTrustedByCats: Bool, owners: [String]
    ) async throws {
        let authority = try Authority()
        let (engine, database) = try await Self.apps(trusting: [
            "birds": authority, "cats": isTrustedByCats ? authority : try Authority(),
        ])
        let body = try Self.body(info, by: authority)
        #expect(try await !engine.recording.record(notification: body).isRepeat)
        #expect(try await Self.owners(in: database) == owners)
        #expect(try await engine.recording.record(notification: body).isRepeat)
        #expect(try await Self.owners(in: database) == owners)
    }

    @Test
    func `a notification that no app trusts, or that names an unknown app, is not recorded`()
        async throws
    {
        let (authority, stranger) = (try Authority(), try Authority())
        let (engine, database) = try await Self.apps(trusting: [
            "birds": authority, "cats": authority,
        ])
        for body in [
            try Self.body(["unclaimSeatIds": ["a"]], by: stranger),
            try Self.body(["bundleId": "com.example.dogs"], by: authority),
        ] {
            await #expect(throws: EngineFailure.self) {
                try await engine.recording.record(notification: body)
            }
        }
        #expect(try await Self.owners(in: database) == [])
    }
}

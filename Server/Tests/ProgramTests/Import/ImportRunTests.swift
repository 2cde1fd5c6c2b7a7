import Engine
import Foundation
import HTTPServer
import Ledger
import Testing

@testable import Program

/// What one run of an import reports about its file as a whole.
@Suite struct ImportRunTests {
    private static let app = AppConfiguration(
        settings: AppSettings(id: "rage", bundleID: "com.example.rage", entitlements: [:]),
        extraRoots: [])

    private static func withRun(
        of text: String, _ body: (ImportRun) async throws -> Void
    ) async throws {
        try await TemporaryFolder.with { folder in
            let assembly = try await Assembly(
                apps: [app], databaseAddress: folder + "/p.sqlite", now: { .machine },
                logger: .quiet)
            defer { assembly.database.close() }
            let file = URL(fileURLWithPath: folder + "/receipts.csv")
            try Data(text.utf8).write(to: file)
            try await body(
                ImportRun(
                    engine: assembly.engine, app: "rage", kind: .receipts, file: file,
                    report: URL(fileURLWithPath: folder + "/report.csv")))
        }
    }

    @Test(arguments: ["customer_id,app_receipt\n", ""])
    func `a file without rows is refused at the first and at every later import`(text: String)
        async throws
    {
        try await Self.withRun(of: text) { run in
            for _ in 1...2 {
                let failure = await #expect(throws: StartFailure.self) { try await run.run() }
                #expect(failure?.remedy.isEmpty == false, "\(String(describing: failure))")
            }
        }
    }

    @Test func `a second run of the same file says that it did nothing`() async throws {
        try await Self.withRun(of: "customer_id,app_receipt\nanna,QUJD\n") { run in
            let first = try await run.run()
            #expect(first.position.refused == 1 && first.nameless == 0)
            let second = try await run.run()
            #expect(second.position == first.position && second.nameless == nil)
        }
    }
}

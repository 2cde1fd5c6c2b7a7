import Foundation
import Testing

@testable import Perennial
@testable import PerennialContract

/// A customer who has paid never sees their access reported as closed for certain, however late the
/// server answers.
@Suite struct AnswerTests {
    private func play(_ row: AnswerRow, after delay: Int64?, signed: Bool) async throws {
        let clock = VirtualClock()
        let server = LateServer(
            row.books, after: delay, by: clock, signer: signed ? TestSigner("one") : nil)
        // The server knows the grants before the app asks for the first time.
        server.change { $0.grantsOfAll = row.granted }
        let folder = try TemporaryFolder(server: "http://late.test")
        var bundle: URL?
        if let bundled = row.bundled {
            let file = folder.url.appendingPathComponent("bundled.json")
            try JSONEncoder().encode(LateServer.offerings(bundled)).write(to: file)
            bundle = file
        }
        let offerings = bundle
        let app = try AnsweredApp(ListedStore(row.listed), server, in: folder) {
            $0.customer = row.person
            $0.bundledOfferings = offerings
        }
        try await app.untilStoreIsRead()
        let waiting = Task { await app.perennial.known("pro", withinSeconds: 60) }
        if delay != 0 {
            #expect(app.pro == row.before)
            clock.advance(milliseconds: (delay ?? 600_000) - 1)
            #expect(app.pro == row.before)
        }
        if let delay {
            try await app.untilAnswered(delay)
            #expect(app.pro == row.after)
            #expect(AnswerRow.Answer(await waiting.value) != .unknown)
        }
        waiting.cancel()
        try await app.stop()
        #expect(app.answers.first == .unknown)
        if row.after == .open {
            #expect(!app.answers.contains(.shut), "\(app.answers)")
        }
    }

    @Test(arguments: AnswerRow.all, AnswerRow.delays)
    func `a new installation shows what the store and the server prove about the customer`(
        row: AnswerRow, delay: Int64?
    ) async throws {
        try await play(row, after: delay, signed: false)
        try await play(row, after: delay, signed: true)
    }
}

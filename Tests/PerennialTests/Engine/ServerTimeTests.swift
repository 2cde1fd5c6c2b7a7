import Foundation
import PerennialContract
import Testing

@testable import Perennial

@Suite struct ServerTimeTests {
    private func perennial(
        in folder: TemporaryFolder, trusting keys: [Perennial.PublicKey]
    ) -> Perennial {
        var configuration = Perennial.Configuration(
            server: URL(string: "http://127.0.0.1:9")!, key: "pk_a")
        configuration.folder = folder.url
        configuration.trustedKeys = keys
        configuration.customer = "anna"
        configuration.log = Perennial.LogHandler(level: .error) { _, _, _ in }
        return Perennial(configuration, store: SilentStore(), clock: StillClock())
    }

    private let yearAgo = Timestamp(
        milliseconds: StillClock.noon.milliseconds - 365 * 86_400_000)

    @Test func `a device that knows keys ignores an unsigned time`()
        async throws
    {
        let folder = try TemporaryFolder()
        let perennial = perennial(in: folder, trusting: [TestSigner("one").trusted])
        let engine = try #require(perennial.engine)
        await engine.recordTime(yearAgo)
        #expect(await engine.now == StillClock.noon)
        await perennial.stop()
    }

    @Test func `a token sets the clock, and an unsigned time moves it forward by a limited amount`()
        async throws
    {
        let folder = try TemporaryFolder()
        let signer = TestSigner("one")
        let perennial = perennial(in: folder, trusting: [signer.trusted])
        let engine = try #require(perennial.engine)
        await engine.open()
        let signed = Timestamp(milliseconds: 1_798_000_000_123)
        func answer(_ token: String, after milliseconds: Int64) async {
            let time = Timestamp(milliseconds: signed.milliseconds + milliseconds)
            await engine.accept(
                Customer(
                    customerID: "anna", environment: .production, asOf: time, token: token,
                    serverTime: time),
                for: "anna", by: 1)
        }
        await answer(signer.token(), after: 86_400_000)
        #expect(await engine.now == signed)
        await answer(signer.token(), after: 86_410_000)
        #expect(await engine.now == signed)
        let next = Timestamp(milliseconds: signed.milliseconds + 86_420_000)
        let claims = ["iat": "1798086420", "exp": "1798090000", "seq": "1798086420123"]
        await answer(signer.token(claims), after: 86_430_000)
        #expect(await engine.now.milliseconds == next.milliseconds + 10_000)
        // An older token that arrives again later changes nothing.
        await answer(signer.token(), after: 86_440_000)
        #expect(await engine.now.milliseconds == next.milliseconds + 10_000)
        await perennial.stop()
    }

    @Test func `without trusted keys no token is verified, and the server's time is used`()
        async throws
    {
        let folder = try TemporaryFolder()
        let perennial = perennial(in: folder, trusting: [])
        let engine = try #require(perennial.engine)
        await engine.recordTime(yearAgo)
        #expect(await engine.now == yearAgo)
        await perennial.stop()
    }
}

extension TestSigner {
    /// The public key in the form that `Configuration.trustedKeys` needs.
    var trusted: Perennial.PublicKey {
        Perennial.PublicKey(id: published.id, x: published.x, y: published.y)
    }
}

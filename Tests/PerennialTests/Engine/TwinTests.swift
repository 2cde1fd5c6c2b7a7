import Foundation
import Testing

@testable import Perennial

@Suite struct TwinTests {
    private func configuration(in folder: TemporaryFolder, key: String = "pk_a")
        -> Perennial.Configuration
    {
        // The server's address: nothing listens on the discard port.
        var configuration = Perennial.Configuration(
            server: URL(string: "http://127.0.0.1:9")!, key: key)
        configuration.folder = folder.url
        configuration.log = Perennial.LogHandler(level: .error) { _, _, _ in }
        return configuration
    }

    @Test func `a second Perennial with the same server and key shares the engine of the first`()
        throws
    {
        let folder = try TemporaryFolder()
        withExtendedLifetime(folder) {
            let lines = Locked<[String]>([])
            var configuration = configuration(in: folder)
            let first = Perennial(configuration)
            configuration.log = Perennial.LogHandler(level: .error) { _, _, line in
                lines.withLock { $0.append(line) }
            }
            let second = Perennial(configuration)
            #expect(first.engine === second.engine && first.publisher === second.publisher)
            #expect(lines.withLock { $0.filter { $0.contains("twin") }.count } == 1)
            let other = Perennial(self.configuration(in: folder, key: "pk_b"))
            #expect(other.engine !== first.engine)
        }
    }

    @Test
    func `after the last Perennial of an engine is released, a new Perennial gets a new engine`()
        throws
    {
        let folder = try TemporaryFolder()
        try withExtendedLifetime(folder) {
            let configuration = configuration(in: folder)
            var first: Perennial? = Perennial(configuration)
            var second: Perennial? = Perennial(configuration)
            let engine = try #require(first?.engine)
            first = nil
            #expect(second?.engine === engine)
            #expect(Perennial(configuration).engine === engine)
            second = nil
            #expect(Perennial(configuration).engine !== engine)
        }
    }

    @Test func `a new Perennial can write while requests of the released one still run`()
        async throws
    {
        let folder = try TemporaryFolder()
        let configuration = configuration(in: folder)
        var first: Perennial? = Perennial(configuration)
        let engine = try #require(first?.engine)
        await engine.open()
        #expect(await engine.outbox?.isWriter == true)
        first = nil
        let second = Perennial(configuration)
        await second.engine?.open()
        #expect(second.engine !== engine)
        #expect(await second.engine?.outbox?.isWriter == true)
        await second.stop()
    }
}

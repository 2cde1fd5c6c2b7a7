import Foundation
import Testing

@testable import Program

@Suite struct ServerLockTests {
    @Test func `a second server on one database is refused, even under another path to the file`()
        async throws
    {
        try await TemporaryFolder.with { folder in
            let path = folder + "/p.sqlite"
            let first = try #require(try ServerLock.acquire(for: path))
            try DatabaseAddress.open(path).close()
            try FileManager.default.createSymbolicLink(
                atPath: folder + "/link.sqlite", withDestinationPath: path)
            try FileManager.default.createSymbolicLink(
                atPath: folder + "/there", withDestinationPath: folder)
            for other in [
                "p.sqlite", "link.sqlite", "there/p.sqlite", "../\(name(of: folder))/p.sqlite",
            ] {
                let failure = #expect(throws: StartFailure.self) {
                    try ServerLock.acquire(for: "\(folder)/\(other)")
                }
                let message = failure?.message ?? ""
                #expect(message.hasSuffix("(process \(getpid()))."), "\(other): \(message)")
            }
            #expect(FileStatus(path: path + ".lock")?.permissions == 0o600)
            // Another database in the same folder is not locked.
            #expect(try ServerLock.acquire(for: folder + "/q.sqlite") != nil)
            first.release()
            #expect(try ServerLock.acquire(for: path) != nil)
            // The test did not store this lock, so the lock was released.
            #expect(try ServerLock.acquire(for: path) != nil)
        }
    }

    private func name(of folder: String) -> String {
        URL(fileURLWithPath: folder).lastPathComponent
    }

    @Test(arguments: ["postgres://db/p", "host=db dbname=p", ":memory:"])
    func `a database that several servers can share has no lock`(address: String) throws {
        #expect(try ServerLock.acquire(for: address) == nil)
    }
}

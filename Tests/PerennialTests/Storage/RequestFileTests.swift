import Foundation
import PerennialContract
import Testing

@testable import Perennial

@Suite struct RequestFileTests {
    private let noon = Timestamp(milliseconds: 1_795_694_400_000)
    private let guide = Perennial.PurchaseRequest(product: "guide")
    private let pro = Perennial.PurchaseRequest(product: "pro.monthly", offerID: "back")

    private func later(_ milliseconds: Int64) -> Timestamp {
        Timestamp(milliseconds: noon.milliseconds + milliseconds)
    }

    /// A folder, and the file as the next process opens it.
    private func with(_ body: (DeviceFolder, () -> RequestFile) throws -> Void) throws {
        let temporary = try TemporaryFolder()
        try withExtendedLifetime(temporary) {
            try body(temporary.device) {
                var file = RequestFile(folder: temporary.device)
                file.read()
                return file
            }
        }
    }

    @Test func `after a launch, the file contains the requests that the app has not read yet`()
        throws
    {
        try with { _, launch in
            var file = launch()
            try file.add(guide, at: noon)
            try file.add(pro, at: noon)
            var next = launch()
            #expect(try next.removeFirst(at: noon) == guide)
            var last = launch()
            #expect(try last.removeFirst(at: noon) == pro)
            #expect(try last.removeFirst(at: noon) == nil)
            var none = launch()
            #expect(try none.removeFirst(at: noon) == nil)
        }
    }

    @Test func `a request that is already waiting is not added again`() throws {
        try with { _, launch in
            var file = launch()
            for _ in 0..<3 { try file.add(guide, at: noon) }
            #expect(try file.removeFirst(at: noon) == guide)
            #expect(try file.removeFirst(at: noon) == nil)
        }
    }

    @Test func `a purchase request that waits for the app is dropped after three days`() throws {
        try with { _, launch in
            var file = launch()
            try file.add(guide, at: noon)
            try file.add(pro, at: later(1))
            #expect(try file.removeFirst(at: later(RequestFile.ageMax + 1)) == pro)
        }
    }

    @Test func `if there are too many requests, the oldest one is dropped`() throws {
        try with { _, launch in
            var file = launch()
            for number in 0...RequestFile.waitingMax {
                try file.add(.init(product: .init(rawValue: "p\(number)")), at: noon)
            }
            #expect(try file.removeFirst(at: noon)?.product == "p1")
        }
    }

    @Test func `a damaged file of requests counts as empty`() throws {
        try with { folder, launch in
            try FileBytes.replace(folder.path(RequestFile.name), with: Array("[{".utf8))
            var file = launch()
            #expect(try file.removeFirst(at: noon) == nil)
            try file.add(guide, at: noon)
            var next = launch()
            #expect(try next.removeFirst(at: noon) == guide)
        }
    }
}

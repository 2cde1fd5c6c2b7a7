import Eventually
import Foundation
import Synchronization
import Testing

@testable import StoreKit

extension StoreTests {
    @Suite struct ExampleTests {
        /// The folder of this build's products, beside the tests.
        private static let example: URL = {
            let tests = URL(fileURLWithPath: CommandLine.arguments[0])
            return tests.deletingLastPathComponent().appendingPathComponent("StoreKitOnLinux")
        }()

        @Test func `a program that uses only Apple's API can buy, renew and get a refund`()
            async throws
        {
            let world = try await World()
            let phone = try await world.device()
            let program = Process()
            program.executableURL = Self.example
            var environment = ProcessInfo.processInfo.environment
            environment["PERENNIAL_SIMULATOR"] = world.url.absoluteString
            environment["PERENNIAL_DEVICE"] = phone.id
            program.environment = environment
            let output = Pipe()
            program.standardOutput = output
            try program.run()
            defer { program.terminate() }
            var lines = Self.lines(of: output).makeAsyncIterator()
            #expect(await lines.next() == "for sale: Birds Pro, monthly, $9.99")
            #expect(await lines.next() == "bought pro.monthly")
            #expect(await lines.next() == "entitled to pro.monthly")
            try await world.advance("P32D")
            #expect(await lines.next() == "renewed pro.monthly")
            try await world.post("subscriptions/\(phone.account):pro.monthly/refund")
            #expect(await lines.next() == "refunded pro.monthly")
            #expect(await lines.next() == "entitlements at the end: 0")
            #expect(try await program.waitForEnd() == 0)
        }

        /// The lines that a program writes, as soon as they arrive.
        private static func lines(of output: Pipe) -> AsyncStream<String> {
            AsyncStream { continuation in
                let rest = Mutex("")
                output.fileHandleForReading.readabilityHandler = { handle in
                    let data = handle.availableData
                    if data.isEmpty {
                        handle.readabilityHandler = nil
                        continuation.finish()
                        return
                    }
                    let lines = rest.withLock { rest in
                        rest += String(decoding: data, as: UTF8.self)
                        var lines = rest.components(separatedBy: "\n")
                        rest = lines.removeLast()
                        return lines
                    }
                    for line in lines { continuation.yield(line) }
                }
            }
        }
    }
}

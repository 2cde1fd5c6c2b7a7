import Eventually
import Foundation
import Synchronization
import Testing

@testable import Courier

/// A resolver that does not return for some hosts until it is released.
private final class Resolver: Sendable {
    let address = IPAddress(bytes: [192, 0, 2, 1])!
    private let silent: Set<String>
    private let gate = DispatchSemaphore(value: 0)
    private let asked = Mutex<[String]>([])

    init(silent: Set<String> = []) { self.silent = silent }

    var lookups: [String] { asked.withLock { $0 } }

    func addresses(of host: String) -> [IPAddress] {
        asked.withLock { $0.append(host) }
        if silent.contains(host), gate.wait(timeout: .now() + waitSecondsMax) == .timedOut {
            Issue.record("The lookup of \(host) was never released.")
        }
        return [address]
    }

    /// Releases this number of silent lookups.
    func release(_ count: Int = 1) { for _ in 0..<count { gate.signal() } }
}

@Suite(.timeLimit(.minutes(5))) struct HostLookupTests {
    private func courier(_ lookups: HostLookups) -> Courier {
        Courier(rules: HostRules(), timeout: .milliseconds(200)) {
            try await lookups.addresses(of: $0)
        }
    }

    private func parcel(_ host: String) -> Courier.Parcel {
        Courier.Parcel(url: "https://\(host)/", id: "birds_evt_1", body: [], secrets: [])
    }

    @Test func `all posts to one host share one lookup, which does not delay posts to other hosts`()
        async throws
    {
        let resolver = Resolver(silent: ["silent"])
        let lookups = HostLookups(threadsMax: 2) { resolver.addresses(of: $0) }
        try await withThrowingTaskGroup(of: [IPAddress].self) { tasks in
            for _ in 0..<8 {
                tasks.addTask { try await lookups.addresses(of: "silent") }
            }
            try await eventually("eight wait for one lookup") {
                lookups.waiterCount == 8 && !resolver.lookups.isEmpty
            }
            #expect(try await lookups.addresses(of: "other") == [resolver.address])
            #expect(resolver.lookups == ["silent", "other"])
            resolver.release()
            for try await found in tasks { #expect(found == [resolver.address]) }
        }
        #expect(lookups.waiterCount == 0)
    }

    @Test func `a post ends at its time limit even if its lookup continues`() async throws {
        let resolver = Resolver(silent: ["silent"])
        let lookups = HostLookups { resolver.addresses(of: $0) }
        let outcome = await courier(lookups).post(parcel("silent"))
        #expect(outcome == .failure("no response within 0.2 seconds"))
        // The next post joins the lookup that still runs.
        _ = await courier(lookups).post(parcel("silent"))
        #expect(resolver.lookups == ["silent"])
        resolver.release()
    }

    @Test func `if lookups of other hosts use all threads, a post is not attempted`() async throws {
        let resolver = Resolver(silent: ["silent"])
        let lookups = HostLookups(threadsMax: 1) { resolver.addresses(of: $0) }
        async let first = lookups.addresses(of: "silent")
        try await eventually("the first lookup") { resolver.lookups == ["silent"] }
        #expect(await courier(lookups).post(parcel("other")) == .notAttempted)
        async let second = lookups.addresses(of: "third")
        try await eventually("two wait") { lookups.waiterCount == 2 }
        resolver.release()
        _ = try await (first, second)
        // The resolver was not asked for "other", because no post waited for that host any more.
        #expect(resolver.lookups == ["silent", "third"])
    }

    @Test func `if too many callers wait, only numeric addresses are accepted, without a lookup`()
        async throws
    {
        let resolver = Resolver()
        let lookups = HostLookups(waitersMax: 0) { resolver.addresses(of: $0) }
        await #expect(throws: HostLookups.NotBegun()) {
            try await lookups.addresses(of: "other")
        }
        for address in ["127.0.0.1", "::1"] {
            #expect(try await lookups.addresses(of: address) == [IPAddress(address)])
        }
        #expect(resolver.lookups.isEmpty)
    }

    @Test func `an error of the resolver reaches every caller, and the next call tries again`()
        async throws
    {
        let count = Mutex(0)
        let lookups = HostLookups { _ in
            count.withLock { $0 += 1 }
            throw HostRules.Refusal(description: "the host's name cannot be resolved")
        }
        for _ in 0..<2 {
            await #expect(throws: HostRules.Refusal.self) {
                try await lookups.addresses(of: "nowhere")
            }
        }
        #expect(count.withLock { $0 } == 2)
    }
}

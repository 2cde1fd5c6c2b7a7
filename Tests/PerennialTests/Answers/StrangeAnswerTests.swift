import Foundation
import Testing

@testable import Perennial

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Answers of networks and proxies in the server's place: nothing of the customer is lost, and
/// nothing counts as done that the server has not done.
@Suite struct StrangeAnswerTests {
    private let clock = VirtualClock()
    private let server: StrangeServer
    private let folder: TemporaryFolder

    init() throws {
        server = StrangeServer(clock)
        folder = try TemporaryFolder(server: "http://late.test")
    }

    private func launch() throws -> Perennial {
        var configuration = Perennial.Configuration(
            server: URL(string: "http://late.test")!, key: "pk_birds")
        configuration.folder = folder.url
        configuration.customer = "ann"
        configuration.log = Perennial.LogHandler(level: .error) { _, _, _ in }
        return Perennial(
            configuration, store: ListedStore(), clock: clock, files: DeviceFiles(configuration),
            transport: server.send)
    }

    /// Waits until the server has answered about the customer and the offerings. Moves the clock to
    /// the next attempt.
    private func untilAnswered(_ engine: Engine) async throws {
        try await eventually("the server has answered") {
            if await engine.state.answer != nil, await engine.state.areOfferingsCurrent {
                return true
            }
            if let wake = clock.nextWake { clock.advance(milliseconds: max(1, wake)) }
            return false
        }
    }

    @Test(arguments: StrangeServer.Fault.allCases)
    func `a debit that was spent offline waits for the server, whatever a proxy answers`(
        fault: StrangeServer.Fault
    ) async throws {
        let perennial = try launch()
        let engine = try #require(perennial.engine)
        try await untilAnswered(engine)
        server.has(.offline)
        let key = UUID()
        let offline = try await perennial.spend(5, from: "seeds", for: "food", key: key)
        #expect(offline.balance == 95)
        server.has(fault)
        try? await perennial.refresh()
        #expect(server.faults > 0)
        let again = try await perennial.spend(5, from: "seeds", for: "food", key: key)
        #expect(again.balance == 95)
        #expect(await engine.outbox?.entries.count == 1)
        #expect(server.booked == [])
        server.has(nil)
        try await perennial.refresh()
        #expect(server.booked == [5])
        #expect(await engine.outbox?.entries.isEmpty == true)
        // An answer about the customer may arrive between the booking and its acknowledgement. It
        // contains the debit, which also waits until the acknowledgement arrives.
        try await eventually("a balance without the debit that waited") {
            perennial.wallet("seeds").balance == 95
        }
        await perennial.stop()
    }

    @Test(arguments: [.offline, .page, .empty, .redirect] as [StrangeServer.Fault])
    func `the SDK asks again after an answer that is not of the server`(
        fault: StrangeServer.Fault
    ) async throws {
        server.has(fault)
        let perennial = try launch()
        let engine = try #require(perennial.engine)
        try await eventually("the launch is over") {
            if server.faults > 0, await engine.state.isStoreRead { return true }
            return false
        }
        server.has(nil)
        try await untilAnswered(engine)
        #expect(perennial.snapshot.isKnown)
        await perennial.stop()
    }

    @Test(arguments: StrangeServer.Fault.allCases)
    func `an erasure fails if the server has not erased the customer`(
        fault: StrangeServer.Fault
    ) async throws {
        let perennial = try launch()
        try await untilAnswered(try #require(perennial.engine))
        server.has(fault)
        await #expect(throws: Perennial.Failure.self) { try await perennial.eraseCustomer() }
        #expect(perennial.snapshot.customer.id == "ann" && !server.isCustomerErased)
        server.has(nil)
        try await perennial.eraseCustomer()
        #expect(perennial.snapshot.customer.id != "ann" && server.isCustomerErased)
        await perennial.stop()
    }

    // MARK: - Redirects

    private static let redirects: [(from: String, to: String, method: String, follows: Bool)] = [
        ("https://a.test/v1/x", "https://a.test/v1/x/", "GET", true),
        ("https://a.test/v1/x", "https://A.test:8443/v1/x", "GET", true),
        ("http://a.test/v1/x", "https://a.test/v1/x", "GET", true),
        ("https://a.test/v1/x", "http://a.test/v1/x", "GET", false),
        ("https://a.test/v1/x", "https://b.test/v1/x", "GET", false),
        ("https://a.test/v1/x", "https://a.test.b.test/v1/x", "GET", false),
        ("https://a.test/v1/x", "file:///v1/x", "GET", false),
        ("https://a.test/v1/x", "https://a.test/v1/y", "POST", false),
    ]

    @Test(arguments: redirects)
    func `a request follows no redirect to another host, to HTTP, or with another method`(
        from: String, to: String, method: String, follows: Bool
    ) throws {
        var original = URLRequest(url: try #require(URL(string: from)))
        original.httpMethod = method
        // After a POST, URLSession continues with GET.
        let new = URLRequest(url: try #require(URL(string: to)))
        #expect(RedirectPolicy.allows(original, to: new) == follows)
    }

    @Test func `the failure of a redirect is temporary, and names only the other host`() {
        let error = ServerError(
            ServerAnswer(status: 302, body: Data()),
            location: "http://login.example/?from=/v1/customers/anna", retryAfter: nil)
        #expect(error.failure.isTemporary && error.failure.code == .serverUnreachable)
        #expect(error.failure.remedy.contains(" at login.example, "))
        #expect(!error.failure.remedy.contains("anna"))
    }
}

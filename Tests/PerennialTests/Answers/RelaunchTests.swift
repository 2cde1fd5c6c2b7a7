import Foundation
import Testing

@testable import Perennial
@testable import PerennialContract

/// Launches with state from an earlier launch, with a log-in, and with entries that wait for the
/// server.
@Suite struct RelaunchTests {
    private let clock = VirtualClock()
    private let signer = TestSigner("one")

    private func server(
        _ books: LateServer.Books = .init(gives: AnswerRow.shop), after delay: Int64? = 0
    ) -> LateServer {
        LateServer(books, after: delay, by: clock, signer: signer)
    }

    private var shop: LateServer.Books {
        LateServer.Books(
            gives: AnswerRow.shop, market: [Sale("1", "month"), .once("2", "guide")])
    }

    /// The folder of an app that was launched while store and server answered.
    private func launched(_ store: ListedStore, _ server: LateServer) async throws
        -> TemporaryFolder
    {
        let app = try AnsweredApp(store, server)
        try await app.untilAnswered(0)
        try await app.stop()
        return app.folder
    }

    @Test func `until the store is read, a stored token does not close access`() async throws {
        let store = ListedStore()
        let folder = try await launched(store, server(shop))
        // The subscription was bought on another device in the meantime.
        store.list([Sale("1", "month")])
        let app = try AnsweredApp(store, server(shop, after: nil), in: folder)
        try await app.untilStoreIsRead()
        #expect(app.pro == .open)
        try await app.stop()
        #expect(app.answers == [.unknown, .open])
    }

    @Test func `if the store lists no open purchase, a stored token closes access`() async throws {
        let store = ListedStore()
        let folder = try await launched(store, server(shop))
        let app = try AnsweredApp(store, server(shop, after: nil), in: folder)
        try await app.untilStoreIsRead()
        try await eventually("it is shut") { app.pro == .shut }
        try await app.stop()
        #expect(app.answers == [.unknown, .shut])
    }

    @Test func `if the store does not answer, a stored token does not close access`() async throws {
        let store = ListedStore()
        let folder = try await launched(store, server(shop))
        store.isSilent(true)
        let app = try AnsweredApp(store, server(shop, after: nil), in: folder)
        try await eventually("it waits for the store") { clock.nextWake != nil }
        clock.advance(milliseconds: 600_000)
        #expect(app.pro == .unknown)
        try await app.stop()
    }

    @Test func `if the store does not answer, a person who logs in gets the server's answer`()
        async throws
    {
        let store = ListedStore()
        store.isSilent(true)
        let server = server(shop)
        let app = try AnsweredApp(store, server)
        try await eventually("it waits for the store") { clock.nextWake != nil }
        let engine = try app.engine
        try await eventually("the server has answered") {
            clock.advance(milliseconds: Engine.storeWait)
            return await engine.state.answer != nil
        }
        #expect(app.pro == .unknown)
        let login = Task { try await app.perennial.identify("ann") }
        try await eventually("the server says that it is shut") {
            clock.advance(milliseconds: Engine.storeWait)
            return app.pro == .shut
        }
        login.cancel()
        try await app.stop()
    }

    @Test
    func `a late response with the offerings does not close a subscription that may have renewed`()
        async throws
    {
        let server = server(shop)
        let app = try AnsweredApp(ListedStore(), server)
        try await app.untilAnswered(0)
        // The subscription was bought with another store account, and ends in a day.
        server.change {
            $0.add([Sale("8", "month") { ($0.until, $0.renews) = (1, true) }], to: "ann")
        }
        #expect(try await app.perennial.identify("ann")["pro"].isActive)
        try await app.stop()
        clock.advance(milliseconds: 49 * 3_600_000)
        server.isCustomerDown(true)
        let next = try AnsweredApp(ListedStore(), server, in: app.folder)
        let engine = try next.engine
        try await next.untilStoreIsRead()
        try await eventually("the offerings were read") { await engine.state.areOfferingsCurrent }
        try await eventually("it is held open") { next.pro == .open }
        try await next.stop()
        #expect(!next.answers.contains(.shut), "\(next.answers)")
    }

    @Test
    func `if the server answers before the store, access stays unknown until the store answers`()
        async throws
    {
        let store = ListedStore([Sale("1", "month")])
        store.isSilent(true)
        let server = server(shop)
        let app = try AnsweredApp(store, server)
        let engine = try app.engine
        // The app comes to the foreground before the store has answered.
        try await engine.fetchCustomer(within: 1)
        #expect(await engine.state.answer != nil && app.pro == .unknown)
        store.isSilent(false)
        await engine.readStore()
        try await eventually("it is open") { app.pro == .open }
        try await app.stop()
        #expect(app.answers == [.unknown, .open])
    }

    @Test func `the offerings of an earlier launch do not decide about a new product`()
        async throws
    {
        let store = ListedStore()
        let folder = try await launched(
            store, server(.init(gives: ["basic": ["basic"]])))
        store.list([Sale("1", "month")])
        let server = server(shop, after: 3_000)
        let app = try AnsweredApp(store, server, in: folder)
        try await app.untilStoreIsRead()
        #expect(app.pro == .unknown)
        try await app.untilAnswered(3_000)
        #expect(app.pro == .open)
        try await app.stop()
        #expect(app.answers == [.unknown, .open])
    }

    @Test func `a purchase that is made while the server is down is open after the next launch`()
        async throws
    {
        let store = ListedStore()
        let server = server(shop)
        let first = try AnsweredApp(store, server)
        try await first.untilAnswered(0)
        server.isDown(true)
        let bought = try await first.perennial.purchase("month")
        #expect(bought.outcome == .bought && first.pro == .open)
        try await first.stop()
        let app = try AnsweredApp(store, server, in: first.folder)
        try await app.untilStoreIsRead()
        try await eventually("it is open") { app.pro == .open }
        try await app.stop()
        #expect(app.answers == [.unknown, .open])
    }

    @Test
    func `a purchase of a product not in the offerings makes access unknown until the verdict`()
        async throws
    {
        let store = ListedStore()
        let folder = try await launched(store, server(.init(gives: [:])))
        let server = server(.init(gives: ["month": ["pro"]]), after: nil)
        let app = try AnsweredApp(store, server, in: folder)
        try await app.untilStoreIsRead()
        try await eventually("the token counts") { app.pro == .shut }
        // The purchase was made on this device, and the token is from before the purchase.
        store.list([Sale("1", "month")])
        await (try app.engine).handle(.transaction(Sale("1", "month").document))
        try await eventually("the purchase was read") { app.pro == .unknown }
        try await app.stop()
    }

    @Test func `an anonymous customer's purchase is never closed while they sign in`()
        async throws
    {
        let server = server(shop, after: 50)
        let app = try AnsweredApp(ListedStore([Sale("1", "month")]), server)
        try await app.untilAnswered(50)
        let perennial = app.perennial
        let login = try await app.whileAnswered(50) { try await perennial.identify("ann") }
        #expect(login["pro"].isActive)
        try await app.stop()
        #expect(app.pro == .open && !app.answers.contains(.shut), "\(app.answers)")
    }

    @Test func `an anonymous customer's grant is never closed while they sign in`() async throws {
        let server = server(shop, after: 50)
        let app = try AnsweredApp(ListedStore(), server)
        let engine = try app.engine
        try await app.untilAnswered(50)
        let id = try #require(await engine.state.device.customerID)
        server.change { $0.grants[id] = ["pro"] }
        let perennial = app.perennial
        let granted = try await app.whileAnswered(50) { try await perennial.refresh() }
        #expect(granted["pro"].isActive)
        let before = app.answers.count
        let login = try await app.whileAnswered(50) { try await perennial.identify("ann") }
        #expect(login["pro"].isActive)
        try await app.stop()
        #expect(!app.answers[before...].contains(.shut), "\(app.answers)")
    }

    @Test func `while a customer's receipt waits to be posted, access is unknown`()
        async throws
    {
        let server = server(
            .init(gives: AnswerRow.shop, receipts: [.once("7", "guide")]))
        let app = try AnsweredApp(ListedStore(), server)
        try await app.untilAnswered(0)
        #expect(app.pro == .shut)
        server.isDown(true)
        let failure = await #expect(throws: Perennial.Failure.self) {
            try await app.perennial.receive(appReceipt: Data("old".utf8), because: .restore)
        }
        #expect(failure?.isTemporary == true && app.pro == .unknown)
        try await app.stop()
        server.isDown(false)
        let next = try AnsweredApp(ListedStore(), server, in: app.folder)
        try await next.untilAnswered(0)
        try await next.stop()
        #expect(next.pro == .open && next.answers == [.unknown, .open], "\(next.answers)")
    }

    @Test
    func `until the first process posts the receipt, a second process shows access as unknown`()
        async throws
    {
        let server = server(.init(gives: AnswerRow.shop))
        let app = try AnsweredApp(ListedStore(), server)
        try await app.untilAnswered(0)
        server.isDown(true)
        _ = try? await app.perennial.receive(appReceipt: Data("old".utf8), because: .restore)
        server.isDown(false)
        let other = try AnsweredApp(ListedStore(), server, in: app.folder)
        try await other.engine.fetchCustomer(within: 1)
        #expect(other.pro == .unknown)
        try await app.engine.post(isAwaited: true)
        try await app.untilAnswered(0)
        try await other.engine.fetchCustomer(within: 1)
        try await eventually("it is shut") { other.pro == .shut }
        try await other.stop()
        try await app.stop()
    }

    @Test func `after a log-in without any answer, access is unknown`() async throws {
        let server = server(shop)
        let app = try AnsweredApp(ListedStore([Sale("9", "basic")]), server)
        try await app.untilAnswered(0)
        #expect(app.pro == .shut)
        server.isDown(true)
        #expect(try await app.perennial.identify("ben")["pro"].isKnown == false)
        await app.perennial.signOut()
        #expect(app.pro == .unknown)
        try await app.stop()
    }

    @Test func `a wallet is unknown before the server has answered`() async throws {
        let server = server(shop, after: 50)
        let app = try AnsweredApp(ListedStore(), server)
        #expect(app.perennial.wallet("seeds") == .init(balance: 0, isKnown: false))
        try await app.untilAnswered(50)
        #expect(app.perennial.wallet("seeds") == .init(balance: 0))
        try await app.stop()
    }

    @Test func `a widget shows access as unknown if the app has not yet asked about a purchase`()
        async throws
    {
        let store = ListedStore()
        let folder = try await launched(store, server(.init(gives: [:])))
        var configuration = Perennial.Configuration(
            server: URL(string: "http://late.test")!, key: "pk_birds")
        configuration.folder = folder.url
        configuration.trustedKeys = [signer.trusted]
        #expect(AnswerRow.Answer(Perennial.stored(configuration, clock: clock)["pro"]) == .shut)
        store.list([Sale("1", "month")])
        let server = server(shop)
        server.isDown(true)
        let app = try AnsweredApp(store, server, in: folder)
        try await app.untilStoreIsRead()
        try await eventually("it is written down") {
            AnswerRow.Answer(Perennial.stored(configuration, clock: clock)["pro"]) == .unknown
        }
        try await app.stop()
    }
}

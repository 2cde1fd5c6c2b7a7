import Engine
import Ledger
import PerennialContract
import Storage
import Testing

@testable import HTTPServer

@Suite struct EventRouteTests {
    @Test func `a request for events needs a secret key`() async throws {
        try await TestServer.run { server in
            let answer = try await server.send(.get, Paths.events)
            #expect(answer.status == 403)
            #expect(try answer.problem.code == .keyNotSecret)
        }
    }

    @Test func `if a client continues from the cursor, it gets each event once`() async throws {
        try await TestServer.run { server in
            for number in 1...5 {
                _ = try await server.send(
                    .post, Paths.aliases(of: "anna"), key: TestServer.secret,
                    body: #"{"customer_id": "a-\#(number)"}"#)
            }
            var cursor = ""
            var seen: [PerennialContract.Event] = []
            for _ in 0..<4 {
                let answer = try await server.send(
                    .get, Paths.events + "?limit=2&after=" + cursor, key: TestServer.secret)
                let list: EventList = try answer.decoded()
                seen += list.items
                cursor = list.nextCursor
            }
            #expect(seen.map(\.sequence) == [1, 2, 3, 4, 5])
            #expect(Set(seen.map(\.id)).count == 5)
            #expect(seen.allSatisfy { $0.type == .aliasAdded && $0.customerID == "anna" })
            #expect(seen.map(\.customerSequence) == [1, 2, 3, 4, 5])
            #expect(cursor == "5")
        }
    }

    @Test func `events can be filtered by any id of a customer`() async throws {
        try await TestServer.run { server in
            for (id, other) in [("anna", "phone"), ("ben", "tablet"), ("anna", "laptop")] {
                _ = try await server.send(
                    .post, Paths.aliases(of: id), key: TestServer.secret,
                    body: #"{"customer_id": "\#(other)"}"#)
            }
            for (id, expected) in [("anna", [1, 3]), ("phone", [1, 3]), ("cleo", [])] {
                let answer = try await server.send(
                    .get, Paths.events + "?customer_id=" + id, key: TestServer.secret)
                let list: EventList = try answer.decoded()
                #expect(list.items.map(\.sequence) == expected.map(Int64.init))
            }
        }
    }

    @Test func `an invalid cursor or limit is refused`() async throws {
        try await TestServer.run { server in
            let wrong: [(String, ProblemCode)] = [
                ("after=x", .cursorUnknown), ("after=-1", .cursorUnknown),
                ("after=99999999999999999999", .cursorUnknown), ("after=1", .cursorUnknown),
                ("limit=0", .limitOutOfRange),
                ("limit=501", .limitOutOfRange), ("limit=many", .limitOutOfRange),
            ]
            for (query, code) in wrong {
                let answer = try await server.send(
                    .get, Paths.events + "?" + query, key: TestServer.secret)
                #expect(answer.status == 400, "\(query)")
                #expect(try answer.problem.code == code, "\(query)")
            }
        }
    }

    @Test func `the contract has exactly the event types of the engine`() {
        #expect(
            Set(Change.Kind.allCases.map(\.rawValue)) == Set(EventType.known.map(\.rawValue)))
    }

    @Test func `an event's JSON has all members of the event`() {
        var change = Change(.refunded, at: TestServer.now)
        change.before = PurchaseStatus(
            product: "pro", state: .paid, until: TestServer.now, willRenew: true)
        change.after = PurchaseStatus(product: "pro", state: .refunded)
        change.money = Ledger.Money(milliunits: -9_990, currency: "USD")
        (change.product, change.transaction, change.ownership) = ("pro", "7", .purchased)
        let told = PerennialContract.Event(
            LoggedEvent(
                sequence: 12, customerSequence: 3,
                entry: EventEntry(
                    app: "birds", customer: "anna", purchase: PurchaseID("1", in: .sandbox),
                    change: change, knownAt: TestServer.now, cause: .document([0, 255]))))
        #expect(
            told
                == PerennialContract.Event(
                    id: "evt_12", sequence: 12, type: .refunded, at: Timestamp(TestServer.now),
                    knownAt: Timestamp(TestServer.now), customerID: "anna", customerSequence: 3,
                    purchaseID: "sandbox:1", originalTransactionID: "1", environment: .sandbox,
                    productID: "pro", transactionID: "7", ownership: .purchased,
                    before: PurchaseCondition(
                        productID: "pro", active: true, state: .paid,
                        until: Timestamp(TestServer.now), willRenew: true),
                    after: PurchaseCondition(
                        productID: "pro", active: false, state: .refunded, until: nil,
                        willRenew: nil),
                    money: PerennialContract.Money(amount: "-9.99", currency: "USD"),
                    cause: .init(kind: "document", documentID: "00ff")))
    }
}

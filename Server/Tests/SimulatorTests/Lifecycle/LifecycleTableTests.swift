import AppStoreFormats
import Testing

@testable import Simulator

/// Apple's table of lifecycle events, row by row: the steps, the notifications in their order, and
/// the contents of the last documents.
@Suite struct LifecycleTableTests {
    /// One act on anna's latest purchase, or time that passes.
    enum Step: Sendable {
        case buy(String)
        case order(PurchaseOrder)
        case does(SubscriptionAct)
        /// Acts on the latest transaction, which need not belong to a subscription.
        case transaction(TransactionAct)
        case waits(String)
        case massExtension(MassExtension)
        /// From now on anna and ben are a family.
        case household
        case announces(
            @Sendable (inout World, AppStoreDate) throws(SimulatorProblem) -> NotificationDraft)
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let row: LifecycleRow
        var set: @Sendable (inout SimulatorSettings) -> Void = { _ in }
        let steps: [Step]
        /// The expected notifications in the form of ``Letter/line``, after that of the first
        /// purchase.
        let told: [String]
        /// The expected members of the last notification's documents: `tx.` for the transaction,
        /// `ri.` for the renewal information, `data.` and others for the notification itself.
        /// Dates are text; null means that the member must be absent.
        var says: [String: JSON] = [:]

        var testDescription: String { "\(row.rawValue): \(row)" }
    }

    @Test(arguments: rows)
    func `each row of Apple's table sends its notifications in Apple's order`(row: Row) async throws
    {
        let stage = try Stage(shop: TableShop.file(), row.set)
        try await stage.play(row.steps)
        let story = try await stage.story()
        #expect(story == row.told)
        #expect(await stage.simulator.notifications.contains { $0.draft.row == row.row })
        let letters = try await stage.letters()
        let last = try require(letters.last, "nothing was told")
        for (path, expected) in row.says {
            let said = Self.member(path, of: last, after: letters.dropLast())
            #expect(said == expected, "\(path): \(said.text)")
        }
        for letter in letters {
            #expect(letter.notification.unknown.isEmpty && letter.transaction.unknown.isEmpty)
            #expect(letter.renewal?.unknown.isEmpty != false)
        }
    }

    @Test func `the tests cover every row of Apple's table`() {
        let played = Set(Self.rows.map(\.row))
        let missing = LifecycleRow.allCases.filter { !played.contains($0) }
        #expect(missing == [])
        #expect(LifecycleRow.allCases.count == 57)
    }

    static func member(
        _ path: String, of letter: Letter, after earlier: ArraySlice<Letter>
    ) -> JSON {
        if path == "tx.isNew" {
            let id = letter.transaction.transactionId
            return .bool(!earlier.contains { $0.transaction.transactionId == id })
        }
        var names = path.split(separator: ".").map(String.init)
        var json: JSON = letter.notification.json
        if names.first == "tx" { json = letter.transaction.json }
        if names.first == "ri" { json = letter.renewal?.json ?? .null }
        if ["tx", "ri"].contains(names.first) { names.removeFirst() }
        for name in names {
            guard let value = json[name] else { return .null }
            json = value
        }
        if names.last?.hasSuffix("Date") == true, let milliseconds = json.integer {
            return .string(RFC3339.text(AppStoreDate(milliseconds: milliseconds)))
        }
        return json
    }
}

extension Stage {
    func play(_ steps: [LifecycleTableTests.Step]) async throws {
        var bought = PurchasedTransaction(
            signedTransaction: "", transactionID: "", originalTransactionID: "")
        for step in steps {
            switch step {
            case .buy(let product): bought = try await buy(product)
            case .order(let order):
                if await simulator.world.devices.isEmpty {
                    try await simulator.addDevice(account: "anna")
                }
                bought = try await simulator.purchase(order, on: "anna-1")
            case .does(let act): try await simulator.change(bought.originalTransactionID, act)
            case .transaction(let act):
                try await simulator.change(transaction: bought.transactionID, act)
            case .waits(let duration): try await advance(duration)
            case .household:
                for name in ["anna", "ben"] {
                    try await simulator.addDevice(account: name, family: "f")
                }
            case .massExtension(let wish): try await simulator.massExtend(wish)
            case .announces(let notice): _ = try await simulator.emit(notice)
            }
        }
    }
}

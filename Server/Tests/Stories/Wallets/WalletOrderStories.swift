import Engine
import Foundation
import Ledger
import Storage
import Testing

/// Random lives of wallets. Prints its seed; PERENNIAL_SEED sets it, and PERENNIAL_ROUNDS sets the
/// number of lives. A life that fails prints its own seed. With this seed it is the first life of a
/// run.
@Suite(.serialized) struct WalletOrderStories {
    private static let environment = ProcessInfo.processInfo.environment
    private static let lives = environment["PERENNIAL_ROUNDS"].flatMap(Int.init) ?? 8
    private static let acts = 50
    private static let seed: UInt64 = {
        let given = environment["PERENNIAL_SEED"].flatMap(UInt64.init)
        let seed = given ?? UInt64.random(in: 0...UInt64.max / 2)
        print("WalletOrderStories: PERENNIAL_SEED=\(seed)")
        return seed
    }()

    @Test(.timeLimit(.minutes(10)), arguments: StoryDatabase.allCases)
    func `in any order of actions, no wallet is credited or debited twice`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: .sqlite, notifies: false) { shop in
            for number in 0..<Self.lives {
                let seed = Self.seed &+ UInt64(number)
                // Every third copy is of the other kind of database.
                let other: StoryDatabase = database == .sqlite ? .postgres : .sqlite
                let copied = seed.isMultiple(of: 3) ? other : database
                try await database.withAddress { address in
                    try await copied.withAddress { copyAddress in
                        var life = try await WalletLife(
                            seed: seed, beside: shop, at: address, copyAt: copyAddress)
                        let played = await Self.result { try await life.play(acts: Self.acts) }
                        life.close()
                        try played.get()
                    }
                }
            }
        }
    }

    private static func result(
        _ body: () async throws -> Void
    ) async -> Result<Void, any Error> {
        do { return .success(try await body()) } catch { return .failure(error) }
    }
}

extension WalletLife {
    mutating func play(acts count: Int) async throws {
        for _ in 0..<count {
            try await act()
            try await check()
        }
        try await tryAgain()
        let report = try await assembly.engine.maintenance.rebuild(verifyOnly: true)
        try #require(report.isClean, "\(report.firstDifferences) \(story)")
    }

    /// At the end every customer posts everything again, in every form, and spends the balance.
    private mutating func tryAgain() async throws {
        for (index, pack) in packs.enumerated() {
            for id in Self.people + ["zoe"] {
                try await post(
                    PurchaseEvidence(signedTransactions: [pack.signed]), as: id, "\(index)")
            }
        }
        if let last = packs.last {
            try await post(PurchaseEvidence(appReceipt: last.receipt), as: "zoe", "a receipt")
        }
        try await check()
        for id in Self.people + ["zoe"] {
            let balance = try await balance(of: id).amount
            if balance > 0 { try await spend(balance, of: id, key: nil) }
        }
        try await check()
    }

    private var story: String {
        "PERENNIAL_SEED=\(seed) \(app.settings.restorePolicy(in: .production)): "
            + acts.joined(separator: "; ")
    }

    // MARK: - Rules

    private mutating func check() async throws {
        var left = try await balanceOfErased()
        var seen: Set<Set<CustomerID>> = []
        for id in Self.people + ["zoe"] {
            let (ids, balance) = try await balance(of: id)
            guard seen.insert(ids).inserted else { continue }
            left += balance
            if !hasSupport { try #require(balance >= 0, "\(id) has \(balance). \(story)") }
        }
        let bought = packs.reduce(0) { $0 + $1.seeds }
        try #require(
            books.spent + left <= bought + books.given,
            "\(books.spent) spent, \(left) left, \(bought) bought, \(books.given) given. \(story)")
        try await countCredits()
        for pack in packs {
            let credited = books.credited[pack.transaction] ?? 0
            try #require(
                credited <= pack.seeds,
                "\(credited) of \(pack.transaction) credited, \(pack.seeds) bought. \(story)")
        }
    }

    private func balance(
        of id: CustomerID
    ) async throws -> (ids: Set<CustomerID>, amount: Int64) {
        let state = try await assembly.engine.customers.find(
            id, app: "birds", environment: .production)
        return (Set([id] + state.aliases), state.balances[Self.currency] ?? 0)
    }

    /// For each purchase, the amount that these customers' statements credit, minus the amount that
    /// its refund deducts.
    func credits(of ids: [CustomerID]) async throws -> [String: Int64] {
        var credits: [String: Int64] = [:]
        for id in ids {
            let wallet = try await assembly.engine.wallets.find(
                Self.currency, of: id, app: "birds", environment: .production)
            for entry in wallet.entries {
                switch entry.cause {
                case .purchase(let transaction, _), .refund(let transaction, _):
                    credits[transaction.rawValue, default: 0] += entry.amount
                case .debit, .credit: break
                }
            }
        }
        return credits
    }

    /// The balances in the wallets of erased customers, with their debts.
    private func balanceOfErased() async throws -> Int64 {
        try await assembly.database.read { connection in
            try connection.number(
                "SELECT CAST(coalesce(sum(balance), 0) AS BIGINT) FROM wallets "
                    + "WHERE NOT EXISTS (SELECT 1 FROM customer_ids "
                    + "WHERE customer_ids.app = wallets.app "
                    + "AND customer_ids.customer = wallets.customer)")
        }
    }

    private mutating func countCredits() async throws {
        var merged: CustomerID?
        while true {
            let last = books.lastEvent
            let events = try await Database(assembly.database).readingLog {
                try $0.events.all(of: "birds", after: last, limit: 500)
            }
            guard let end = events.last else { return }
            for event in events {
                let change = event.entry.change
                if change.kind == .customerMerged { merged = event.entry.other }
                guard let wallet = change.wallet else { continue }
                guard let transaction = change.transaction else {
                    // Any other event without a purchase would credit seeds that the books do not
                    // count.
                    let isOfMerge = merged != nil && event.entry.other == merged
                    try #require(
                        wallet.debit != nil || wallet.credit != nil || isOfMerge,
                        "\(event.entry) names no purchase. \(story)")
                    continue
                }
                books.credited[transaction.rawValue, default: 0] += wallet.amount
            }
            books.lastEvent = end.sequence
        }
    }
}

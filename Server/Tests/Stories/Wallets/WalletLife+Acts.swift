import AppStoreFormats
import Engine
import Ledger
import Storage

@testable import Program

extension WalletLife {
    /// Performs an act. The engine may refuse it, but must not fail otherwise.
    mutating func act() async throws {
        switch Int.random(in: 0..<100, using: &dice) {
        case ..<13: try await buy()
        case ..<18: try await name()
        case ..<35: try await post()
        case ..<49: try await spend()
        case ..<52: try await give()
        case ..<62: try await erase()
        case ..<68: try await unite()
        case ..<74: try await hear()
        case ..<81: try await refund()
        case ..<89: try await support()
        case ..<92: try await bring()
        case ..<95: try await rebuild()
        case ..<98: try await copyOrRestore()
        default: try await pass()
        }
    }

    private mutating func note(_ act: String) { acts.append(act) }

    /// Runs an act. Returns false if the engine refused the act.
    private func isDone(_ body: () async throws -> Void) async throws -> Bool {
        do {
            try await body()
            return true
        } catch let failure as EngineFailure {
            switch failure {
            case .storage, .busy, .unreadable, .notTrusted, .notYetVerifiable, .unknownApp:
                throw failure
            default: return false
            }
        }
    }

    private mutating func buy() async throws {
        guard let account = pick(Self.accounts) else { return }
        let quantity = Int64.random(in: 1...2, using: &dice)
        let bought = try await simulator.post(
            "/_sim/devices/\(account.name)-1/purchases",
            ["product_id": "seeds.100", "quantity": .integer(quantity)])
        packs.append(
            Pack(
                transaction: try bought.text("transaction_id"),
                signed: try bought.text("signed_transaction"),
                receipt: try bought.text("app_receipt"), seeds: quantity * Self.seedsInPack))
        note("\(account.name) buys \(packs.count - 1)")
    }

    /// The app lets the App Store name another account in a pack. From then on, the App Store's
    /// documents name that account. They may arrive immediately or later.
    private mutating func name() async throws {
        guard let index = pick(Array(packs.indices)), let token = pick(Self.named) else { return }
        try await simulator.post("/_sim/clock", ["advance": "PT1S"])
        place.clock.pass(.seconds(1))
        try await simulator.name(token.lowercased(), in: packs[index].transaction)
        packs[index].signed = try await simulator.signed(packs[index].transaction)
        note("\(index) names \(token)")
        guard Bool.random(using: &dice) else { return }
        let evidence = PurchaseEvidence(signedTransactions: [packs[index].signed])
        try await post(evidence, as: somebody(), "\(index)")
    }

    private mutating func post() async throws {
        guard let index = pick(Array(packs.indices)) else { return }
        let pack = packs[index]
        let evidence =
            Int.random(in: 0..<4, using: &dice) == 0
            ? PurchaseEvidence(appReceipt: pack.receipt)
            : PurchaseEvidence(signedTransactions: [pack.signed])
        try await post(evidence, as: somebody(), "\(index)")
    }

    mutating func post(
        _ evidence: PurchaseEvidence, as id: CustomerID, _ name: String
    ) async throws {
        let done = try await isDone {
            _ = try await assembly.engine.recording.record(evidence, of: id, app: "birds")
        }
        note("\(id) posts \(name): \(done)")
    }

    private mutating func spend() async throws {
        let id = somebody()
        let amount = Int64.random(in: 1...120, using: &dice)
        let key = Bool.random(using: &dice) ? "k\(Int.random(in: 0..<9, using: &dice))" : nil
        try await spend(amount, of: id, key: key)
    }

    mutating func spend(_ amount: Int64, of id: CustomerID, key: String?) async throws {
        // A repeated key must be a repeat of the same request, so it has the same amount.
        let amount = key == nil ? amount : 30
        let order = NewBooking(
            .debit, currency: Self.currency, amount: amount, reason: "oak", key: key)
        let done = try await isDone {
            _ = try await assembly.engine.wallets.book(
                order, of: id, app: "birds", environment: .production)
        }
        note("\(id) spends \(amount) \(key ?? ""): \(done)")
        guard done else { return }
        if let key {
            guard books.keys.insert(key).inserted else { return }
        }
        books.spent += amount
    }

    /// A repeated key must be a repeat of the same request, so it has the same amount.
    private mutating func give() async throws {
        let (id, key) = (somebody(), "g\(Int.random(in: 0..<9, using: &dice))")
        let order = NewBooking(
            .credit, currency: Self.currency, amount: 40, reason: "sorry", key: key)
        let done = try await isDone {
            _ = try await assembly.engine.wallets.book(
                order, of: id, app: "birds", environment: .production)
        }
        note("\(id) is given 40 \(key): \(done)")
        guard done, books.keys.insert(key).inserted else { return }
        books.given += 40
    }

    private mutating func erase() async throws {
        let id = somebody()
        let done = try await isDone {
            _ = try await assembly.engine.customers.erase(id, app: "birds")
        }
        note("erase \(id): \(done)")
    }

    private mutating func unite() async throws {
        let (one, other) = (somebody(), somebody())
        guard one != other else { return }
        let areTwo = try await Database(assembly.database).read { tx in
            let known = try [one, other].map {
                try tx.customers.find(known: $0, in: "birds")?.customer
            }
            return known[0] != nil && known[1] != nil && known[0] != known[1]
        }
        let before = try await credits(of: [one, other])
        let done = try await isDone {
            _ = try await assembly.engine.customers.alias(
                other, to: one, app: "birds", environment: .production)
        }
        note("\(other) is \(one): \(done)")
        guard done && areTwo else { return }
        // From now on a refund takes from both customers' seeds. The merge reports the additional
        // amount as one sum without a purchase, so the test reads it from the statements. Without
        // the statements, only a later reversal, which names its purchase, would count.
        let after = try await credits(of: [one])
        for (transaction, amount) in after {
            books.credited[transaction, default: 0] += amount - (before[transaction] ?? 0)
        }
    }

    /// Delivers the notifications so far, in any order and repeatedly.
    private mutating func hear() async throws {
        let sent = try await simulator.get("/_sim/notifications")["notifications"]?.array ?? []
        for notification in sent.shuffled(using: &dice).prefix(4) {
            guard let payload = notification["signed_payload"]?.string else { continue }
            let body: JSON = ["signedPayload": .string(payload)]
            _ = try await assembly.engine.recording.record(notification: body.bytes)
        }
        note("hear")
    }

    /// Refunds a purchase, or reverses its refund.
    private mutating func refund() async throws {
        guard let index = pick(Array(packs.indices)) else { return }
        let verb = packs[index].isRefunded ? "reverse-refund" : "refund"
        try await simulator.post("/_sim/transactions/\(packs[index].transaction)/\(verb)")
        packs[index].isRefunded.toggle()
        note("\(verb) \(index)")
        if Bool.random(using: &dice) { try await hear() }
    }

    private mutating func support() async throws {
        guard hasSupport, let index = pick(Array(packs.indices)) else { return }
        let (id, purchase) = (somebody(), purchase(packs[index]))
        switch Int.random(in: 0..<4, using: &dice) {
        case 0, 1:
            let done = try await isDone {
                _ = try await assembly.engine.ownership.transfer(
                    OwnershipChange(purchase: purchase, reason: "r"), to: id, app: "birds")
            }
            note("support moves \(index) to \(id): \(done)")
        case 2:
            let all = try await assembly.engine.ownership.transfers(of: id, app: "birds")
            guard let transfer = pick(all) else { return }
            let done = try await isDone {
                _ = try await assembly.engine.ownership.undoTransfer(
                    transfer.number, of: id, app: "birds")
            }
            note("undo \(transfer.number) of \(id): \(done)")
        default:
            let done = try await isDone {
                try await assembly.engine.ownership.block(
                    OwnershipChange(purchase: purchase, reason: "r"), of: id, app: "birds")
            }
            note("block \(index) of \(id): \(done)")
        }
    }

    private mutating func bring() async throws {
        guard let pack = pick(packs) else { return }
        let id = somebody()
        _ = try await assembly.engine.imports.record(receipt: pack.receipt, of: id, app: "birds")
        note("import for \(id)")
    }

    private mutating func rebuild() async throws {
        _ = try await assembly.engine.maintenance.rebuild(verifyOnly: false)
        note("rebuild")
    }

    /// Copies the database as it is, or restores the copy, as after a failure of the disk.
    private mutating func copyOrRestore() async throws {
        if let copy {
            assembly.database.close()
            (assembly, books) = (copy.assembly, copy.books)
            (self.copy, isRestored) = (nil, true)
            note("restore")
        } else if !isRestored {
            // An engine writes its keys when it starts, so the copy is made before it has one.
            let target = Database(try DatabaseAddress.open(place.copyAddress))
            try await target.migrate(at: 0)
            try await target.copy(from: Database(assembly.database))
            target.driver.close()
            let fresh = try await place.assembly(of: app, at: place.copyAddress)
            copy = Copy(assembly: fresh, books: books)
            note("copy")
        }
    }

    private mutating func pass() async throws {
        try await simulator.post("/_sim/clock", ["advance": "PT1H"])
        place.clock.pass(.seconds(3600))
        note("an hour passes")
    }
}

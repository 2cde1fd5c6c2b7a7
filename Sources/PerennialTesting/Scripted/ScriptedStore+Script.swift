package import Foundation
package import Perennial
internal import PerennialContract

/// The result of a purchase, for every caller that has waited for it.
typealias ScriptedResult = Result<Perennial.Purchase, Perennial.Failure>

/// The outcome that a test has set for one restore.
struct ScriptedRestoration: Sendable {
    var outcome: Perennial.Restoration.Outcome
    var products: [Perennial.ProductID]
    var ownerHint: String?
}

// MARK: - Silence and failures

extension ScriptedStore: Script {
    /// Waits while the script is silent. Then throws the failure that the script has set for this
    /// call, if any.
    ///
    /// - Parameter unreachable: the code of the failure while the device is offline.
    func reach(_ unreachable: Perennial.Failure.Code) async throws(Perennial.Failure) {
        await withCheckedContinuation { continuation in
            let isAnswered = state.withLock { state in
                if state.reach == .silent { state.waiters.append(continuation) }
                return state.reach != .silent
            }
            if isAnswered { continuation.resume() }
        }
        let failure: Perennial.Failure? = state.withLock { state in
            if state.reach == .offline {
                return Perennial.Failure(
                    unreachable, remedy: "The script says that the device is offline.",
                    isTemporary: true)
            }
            return state.failures.isEmpty ? nil : state.failures.removeFirst()
        }
        if let failure { throw failure }
    }

    package func refresh() async throws(Perennial.Failure) {
        try await reach(.serverUnreachable)
        change { _ in }
    }

    package func offering(
        _ placement: Perennial.PlacementID?
    ) async throws(Perennial.Failure) -> Perennial.Offering {
        try await reach(.storeUnreachable)
        return Perennial.Offering(
            id: placement?.rawValue ?? "default", products: state.withLock(\.books.offeredProducts))
    }

    package func products(
        _ ids: [Perennial.ProductID]
    ) async throws(Perennial.Failure) -> [Perennial.Product] {
        try await reach(.storeUnreachable)
        let offered = state.withLock(\.books.offeredProducts)
        return ids.compactMap { id in offered.first { $0.id == id } }
    }

    package func explain(_ entitlement: Perennial.EntitlementID) -> Perennial.Explanation {
        state.withLock { $0.books.explain(entitlement, $0.heard) }
    }
}

// MARK: - Buying

extension ScriptedStore {
    package func purchase(
        _ product: Perennial.ProductID, _ options: Perennial.PurchaseOptions
    ) async throws(Perennial.Failure) -> Perennial.Purchase {
        let buying = state.withLock { state in
            if let running = state.purchasing[product] { return running }
            let buying = Task { await self.buy(product, options) }
            state.purchasing[product] = buying
            return buying
        }
        return try await buying.value.get()
    }

    private func buy(
        _ product: Perennial.ProductID, _ options: Perennial.PurchaseOptions
    ) async -> ScriptedResult {
        do throws(Perennial.Failure) {
            try await reach(.storeUnreachable)
        } catch {
            state.withLock { $0.purchasing[product] = nil }
            return .failure(error)
        }
        return change { state in
            state.purchasing[product] = nil
            guard state.books.product(product) != nil else {
                return .failure(
                    Perennial.Failure(
                        .productUnknown, remedy: "Pass \(product) to the ScriptedStore."))
            }
            return Self.buy(product, options, &state)
        }
    }

    private static func buy(
        _ product: Perennial.ProductID, _ options: Perennial.PurchaseOptions, _ state: inout State
    ) -> ScriptedResult {
        var outcome = Perennial.Purchase.Outcome.alreadyHad
        var transactionID: String?
        if let refusal = options.seats.flatMap({ state.books.refusal(of: $0, product) }) {
            return .failure(refusal)
        }
        if state.books.advice(on: product).buy || options.regardlessOfAdvice
            || options.seats != nil
        {
            if let kind = options.plan?.kind, !state.books.has(kind, product) {
                return .failure(
                    Perennial.Failure(
                        .offerNotAccepted,
                        remedy: "Pass \(product) to the ScriptedStore with the plan "
                            + "\(kind.rawValue) in its `plans`."))
            }
            outcome = state.outcomes.isEmpty ? .bought : state.outcomes.removeFirst()
            state.sheets.append(product)
            transactionID = state.books.record(outcome, product, options)
        }
        return .success(
            Perennial.Purchase(
                outcome: outcome, product: product, transactionID: transactionID,
                snapshot: state.books.snapshot(), isKeptByServer: outcome == .bought))
    }

    package func advice(on product: Perennial.ProductID) -> Perennial.Advice {
        state.withLock { $0.books.advice(on: product) }
    }

    package var requests: AsyncStream<Perennial.PurchaseRequest> {
        let (stream, continuation) = AsyncStream.makeStream(of: Perennial.PurchaseRequest.self)
        let before = state.withLock { state in
            let before = state.requestReader
            for request in state.requests { continuation.yield(request) }
            state.requests = []
            state.requestReader = continuation
            return before
        }
        // There is only one reader at a time.
        before?.finish()
        return stream
    }
}

// MARK: - Restoring

extension ScriptedStore {
    package func previewRestore() async throws(Perennial.Failure) -> Perennial.RestorePreview {
        try await reach(.serverUnreachable)
        return state.withLock { state in
            state.restorations.first.map { Self.preview($0, state.books) }
                ?? state.books.ownPreview
        }
    }

    package func restore(
        _ shown: Perennial.RestorePreview?
    ) async throws(Perennial.Failure) -> Perennial.Restoration {
        try await reach(.serverUnreachable)
        return change { state in
            if shown != nil, let agreed = state.shown {
                state.shown = nil
                return Self.restore(agreed, as: .restored, &state)
            }
            guard !state.restorations.isEmpty else {
                return Perennial.Restoration(
                    outcome: state.books.ownRestoration, preview: state.books.ownPreview,
                    snapshot: state.books.snapshot())
            }
            let next = state.restorations.removeFirst()
            if next.outcome == .needsConsent { state.shown = next }
            return Self.restore(next, as: next.outcome, &state)
        }
    }

    private static func restore(
        _ restoration: ScriptedRestoration, as outcome: Perennial.Restoration.Outcome,
        _ state: inout State
    ) -> Perennial.Restoration {
        let preview = preview(restoration, state.books)
        if outcome == .restored {
            for product in restoration.products { state.books.deliver(product) }
        }
        return Perennial.Restoration(
            outcome: outcome, preview: preview, snapshot: state.books.snapshot())
    }

    private static func preview(
        _ restoration: ScriptedRestoration, _ books: ScriptedBooks
    ) -> Perennial.RestorePreview {
        let effect: Perennial.RestorePreview.Effect =
            switch restoration.outcome {
            case .needsConsent: .moves
            case .refused: .refused
            case .restored: .links
            default: .nothing
            }
        return Perennial.RestorePreview(
            items: restoration.products.map {
                Perennial.RestorePreview.ShownPurchase(
                    purchase: "shown-\($0)", product: $0, isActive: true, effect: effect,
                    ownerHint: restoration.ownerHint)
            })
    }
}

// MARK: - The customer, and wallets

extension ScriptedStore {
    package func identify(
        _ customer: String
    ) async throws(Perennial.Failure) -> Perennial.Snapshot {
        do throws(Perennial.Failure) { try await reach(.serverUnreachable) } catch {
            // A customer can also sign in offline.
            guard error.isTemporary else { throw error }
        }
        return change { state in
            let isOther = state.books.customer.id != customer
            state.books.identify(customer)
            // Nothing is known about the customer until the server has answered.
            if state.reach != .up, isOther {
                state.heard = .unknown(state.books.customer)
            }
            return state.reach == .up ? state.books.snapshot() : state.heard
        }
    }

    package func signOut() -> Perennial.Snapshot {
        change { state in
            state.books.signOut()
            state.heard =
                state.reach == .up ? state.books.snapshot() : .unknown(state.books.customer)
            return state.heard
        }
    }

    package func erase() async throws(Perennial.Failure) {
        try await reach(.serverUnreachable)
        change { $0.books.erase() }
    }

    package func spend(
        _ amount: Int, from wallet: Perennial.WalletID, key: UUID
    ) async throws(Perennial.Failure) -> Perennial.Wallet {
        try await reach(.serverUnreachable)
        let result: Result<Perennial.Wallet, Perennial.Failure> = change { state in
            guard state.books.spend(amount, from: wallet, key: key) else {
                return .failure(
                    Perennial.Failure(
                        .walletBalanceTooLow, remedy: "The wallet \(wallet) has too little."))
            }
            return .success(state.books.wallet(wallet))
        }
        return try result.get()
    }
}

public import Foundation
public import StoreKit

extension Perennial {
    /// Buys. A second tap while the sheet is up joins the first. Returns when access is as it
    /// should be.
    ///
    /// That the customer cancelled, or that a parent has to agree, is an outcome and no error.
    /// - Throws: `Failure`, which says whether money may have been taken.
    @discardableResult
    public func purchase(
        _ product: ProductID, _ options: PurchaseOptions = PurchaseOptions()
    ) async throws(Failure) -> Purchase {
        try await purchase(product, options, anchor: nil)
    }

    /// Buys with a sheet that the app shows itself: in a scene, or by SwiftUI's `PurchaseAction`.
    @discardableResult
    public func purchase(
        _ product: ProductID, _ options: PurchaseOptions = PurchaseOptions(),
        using buy:
            @escaping @MainActor @Sendable (
                StoreKit.Product, Set<StoreKit.Product.PurchaseOption>
            ) async throws -> StoreKit.Product.PurchaseResult
    ) async throws(Failure) -> Purchase {
        try await purchase(product, options, anchor: PurchaseAnchor(buy))
    }

    private func purchase(
        _ product: ProductID, _ options: PurchaseOptions, anchor: PurchaseAnchor?
    ) async throws(Failure) -> Purchase {
        switch part {
        case .script(let script): try await script.purchase(product, options)
        case .engine(let engine): try await engine.purchase(product, options, anchor: anchor).get()
        }
    }

    /// Whether to sell it to them now, by what is known here.
    ///
    /// - Parameters:
    ///   - product: what they would buy.
    ///   - askingServer: asks for the newest answer before. Without an answer, what is known here
    ///     counts.
    public func advice(on product: ProductID, askingServer: Bool = false) async -> Advice {
        if askingServer { _ = try? await refresh() }
        switch part {
        case .script(let script): return script.advice(on: product)
        case .engine(let engine): return await engine.advice(on: product)
        }
    }

    /// Hands over what Apple's own views, or your own code, bought.
    @discardableResult
    public func receive(
        _ result: StoreKit.Product.PurchaseResult, for product: StoreKit.Product
    ) async throws(Failure) -> Purchase {
        let id = ProductID(rawValue: product.id)
        switch part {
        case .script(let script): return try await script.purchase(id, PurchaseOptions())
        case .engine(let engine):
            return try await engine.receive(StorePurchaseResult(result), for: id)
        }
    }

    /// Hands over the app's receipt: for StoreKit 1, before `finishTransaction`.
    @discardableResult
    public func receive(
        appReceipt: Data, because intent: Intent
    ) async throws(Failure) -> Snapshot {
        guard case .engine(let engine) = part else { return snapshot }
        try await engine.receive(appReceipt: appReceipt, because: intent)
        return snapshot
    }

    /// Promoted purchases and win-back offers that were chosen outside the app. Each is kept until
    /// it is taken, for three days, also if the app ends meanwhile. One reader at a time: the
    /// stream of the one before ends.
    public var requests: AsyncStream<PurchaseRequest> {
        switch part {
        case .script(let script): return script.requests
        case .engine(let engine):
            let reader = RequestReader()
            return AsyncStream {
                await engine.nextRequest(for: reader)
            } onCancel: {
                Task { await engine.resumeRequestReader() }
            }
        }
    }

    /// Brings back what this Apple account has. Asks for a password only if the first look found
    /// nothing. If another customer would lose something, it changes nothing and says so: see
    /// `Restoration.Outcome.needsConsent`.
    ///
    /// - Throws: `Failure` if the store or the server cannot be asked. What the server has not
    ///   confirmed is sent again later.
    @discardableResult
    public func restore() async throws(Failure) -> Restoration {
        switch part {
        case .script(let script): try await script.restore(nil)
        case .engine(let engine): try await engine.restore()
        }
    }

    /// What `restore` would do, and for whom. Changes nothing, and asks for no password.
    ///
    /// - Throws: `Failure` if the server cannot be asked.
    public func previewRestore() async throws(Failure) -> RestorePreview {
        switch part {
        case .script(let script): try await script.previewRestore()
        case .engine(let engine): try await engine.previewRestore()
        }
    }

    /// Does what was shown, if it is still so.
    ///
    /// - Throws: `Failure`: `preview_outdated` if it is not, and as ``restore()``.
    @discardableResult
    public func restore(_ shown: RestorePreview) async throws(Failure) -> Restoration {
        switch part {
        case .script(let script): try await script.restore(shown)
        case .engine(let engine): try await engine.restore(shown)
        }
    }
}

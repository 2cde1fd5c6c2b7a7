public import Foundation
public import StoreKit

extension Perennial {
    /// Buys a product. A second call while the payment sheet is shown joins the first call. The
    /// function returns when it is known which access the purchase gives.
    ///
    /// A cancelled purchase, or a purchase that waits for a parent's approval, is an outcome, not
    /// an error.
    /// - Throws: `Failure`; its `charged` says whether the customer may have been charged.
    @discardableResult
    public func purchase(
        _ product: ProductID, _ options: PurchaseOptions = PurchaseOptions()
    ) async throws(Failure) -> Purchase {
        try await purchase(product, options, anchor: nil)
    }

    /// Buys with a payment sheet that the app shows itself: in a scene, or with SwiftUI's
    /// `PurchaseAction`.
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

    /// Returns whether this device advises that the customer buys a product now.
    ///
    /// - Parameters:
    ///   - product: the product that the customer would buy.
    ///   - askingServer: whether to request the newest state from the server first. If the request
    ///     fails, the state on this device counts.
    public func advice(on product: ProductID, askingServer: Bool = false) async -> Advice {
        if askingServer { _ = try? await refresh() }
        switch part {
        case .script(let script): return script.advice(on: product)
        case .engine(let engine): return await engine.advice(on: product)
        }
    }

    /// Records a purchase that Apple's own views or your own code made.
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

    /// Posts the app's receipt. For apps that use StoreKit 1: call this function before
    /// `finishTransaction`.
    @discardableResult
    public func receive(
        appReceipt: Data, because intent: Intent
    ) async throws(Failure) -> Snapshot {
        guard case .engine(let engine) = part else { return snapshot }
        try await engine.receive(appReceipt: appReceipt, because: intent)
        return snapshot
    }

    /// Promoted purchases and win-back offers that the customer chose outside the app. The SDK
    /// saves each request until a reader takes it, for at most three days, even if the app ends
    /// meanwhile. There is one reader at a time: a new stream ends the previous stream.
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

    /// Restores the purchases of this Apple account. Asks for the account's password only if the
    /// first attempt found no purchase. If another customer would lose a purchase, the function
    /// changes nothing and returns `Restoration.Outcome.needsConsent`.
    ///
    /// - Throws: `Failure` if the store or the server cannot be asked. Documents that the server
    ///   has not confirmed are sent again later.
    @discardableResult
    public func restore() async throws(Failure) -> Restoration {
        switch part {
        case .script(let script): try await script.restore(nil)
        case .engine(let engine): try await engine.restore()
        }
    }

    /// What `restore` would do with each purchase. The preview changes nothing and asks for no
    /// password.
    ///
    /// - Throws: `Failure` if the server cannot be asked.
    public func previewRestore() async throws(Failure) -> RestorePreview {
        switch part {
        case .script(let script): try await script.previewRestore()
        case .engine(let engine): try await engine.previewRestore()
        }
    }

    /// Restores what a preview showed, if the preview is still valid.
    ///
    /// - Throws: `Failure`: `preview_outdated` if the preview is no longer valid; otherwise in the
    ///   same cases as ``restore()``.
    @discardableResult
    public func restore(_ shown: RestorePreview) async throws(Failure) -> Restoration {
        switch part {
        case .script(let script): try await script.restore(shown)
        case .engine(let engine): try await engine.restore(shown)
        }
    }
}

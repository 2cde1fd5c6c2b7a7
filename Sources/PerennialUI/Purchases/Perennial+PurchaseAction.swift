#if canImport(SwiftUI)
    public import Perennial
    import StoreKit
    import SwiftUI
    #if canImport(_StoreKit_SwiftUI)
        public import _StoreKit_SwiftUI
    #endif

    extension Perennial {
        /// Buys with the payment sheet in the window of a view. The action comes from
        /// `@Environment(\.purchase) private var action`.
        @available(iOS 17.0, macOS 14.0, *)
        @discardableResult
        @MainActor
        public func purchase(
            _ product: ProductID, _ options: PurchaseOptions = PurchaseOptions(),
            with action: PurchaseAction
        ) async throws(Failure) -> Purchase {
            try await purchase(product, options) { product, options in
                try await action(product, options: options)
            }
        }
    }
#endif

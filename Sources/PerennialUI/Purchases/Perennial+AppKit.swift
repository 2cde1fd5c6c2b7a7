#if canImport(AppKit) && !targetEnvironment(macCatalyst)
    public import AppKit
    public import Perennial
    import StoreKit

    extension Perennial {
        /// Buys with the payment sheet in a window. Before macOS 15.2 the system chooses the
        /// window.
        @discardableResult
        @MainActor
        public func purchase(
            _ product: ProductID, _ options: PurchaseOptions = PurchaseOptions(),
            confirmIn window: NSWindow
        ) async throws(Failure) -> Purchase {
            try await purchase(product, options) { product, options in
                if #available(macOS 15.2, *) {
                    return try await product.purchase(confirmIn: window, options: options)
                }
                return try await product.purchase(options: options)
            }
        }
    }
#endif

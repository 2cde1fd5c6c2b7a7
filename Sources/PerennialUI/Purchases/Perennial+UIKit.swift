#if canImport(UIKit) && !os(tvOS) && !os(watchOS)
    public import Perennial
    import StoreKit
    public import UIKit

    extension Perennial {
        /// Buys with the payment sheet in a scene. Before iOS 17 the system chooses the scene.
        @discardableResult
        @MainActor
        public func purchase(
            _ product: ProductID, _ options: PurchaseOptions = PurchaseOptions(),
            confirmIn scene: UIScene
        ) async throws(Failure) -> Purchase {
            try await purchase(product, options) { product, options in
                if #available(iOS 17.0, *) {
                    return try await product.purchase(confirmIn: scene, options: options)
                }
                return try await product.purchase(options: options)
            }
        }

        /// Buys with the payment sheet over a view controller. Before iOS 18.2, buys with the
        /// payment sheet in the view controller's scene.
        @discardableResult
        @MainActor
        public func purchase(
            _ product: ProductID, _ options: PurchaseOptions = PurchaseOptions(),
            confirmIn controller: UIViewController
        ) async throws(Failure) -> Purchase {
            try await purchase(product, options) { product, options in
                if #available(iOS 18.2, *) {
                    return try await product.purchase(confirmIn: controller, options: options)
                }
                if #available(iOS 17.0, *), let scene = controller.view.window?.windowScene {
                    return try await product.purchase(confirmIn: scene, options: options)
                }
                return try await product.purchase(options: options)
            }
        }
    }
#endif

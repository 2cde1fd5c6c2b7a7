#if canImport(SwiftUI)
    import Perennial
    import StoreKit
    public import SwiftUI
    #if canImport(_StoreKit_SwiftUI)
        import _StoreKit_SwiftUI
    #endif

    extension View {
        /// Records purchases that are made in Apple's `ProductView`, `StoreView` and
        /// `SubscriptionStoreView` inside this view. Some systems announce these purchases nowhere
        /// else.
        @available(iOS 17.0, macOS 14.0, *)
        public func perennialTakesPurchases() -> some View {
            modifier(StorePurchaseModifier())
        }
    }

    @available(iOS 17.0, macOS 14.0, *)
    private struct StorePurchaseModifier: ViewModifier {
        @EnvironmentObject private var model: AccessModel
        @Environment(\.locale) private var locale
        @State private var notice: String?

        func body(content: Content) -> some View {
            content
                .notice($notice, Wording(locale: locale))
                .inAppPurchaseOptions { _ in
                    let token = model.perennial.snapshot.customer.accountToken
                    return token.map { [.appAccountToken($0)] } ?? []
                }
                .onInAppPurchaseCompletion { product, result in
                    await receive(result, for: product)
                }
        }

        private func receive(
            _ result: Result<StoreKit.Product.PurchaseResult, any Error>,
            for product: StoreKit.Product
        ) async {
            // Apple's view has already shown an error of the sheet.
            guard case .success(let result) = result else { return }
            let wording = Wording(locale: locale)
            do throws(Perennial.Failure) {
                let purchase = try await model.perennial.receive(result, for: product)
                notice = wording.notice(of: purchase.outcome)
            } catch {
                notice = error.text(in: locale)
            }
        }
    }
#endif

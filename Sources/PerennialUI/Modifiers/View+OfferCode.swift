#if canImport(SwiftUI)
    public import SwiftUI
    import StoreKit
    #if canImport(_StoreKit_SwiftUI)
        import _StoreKit_SwiftUI
    #endif
    import Foundation

    extension View {
        /// The sheet in which customers redeem a code, and a look at the store after it. Before
        /// iOS 16 and macOS 15, which have no such sheet in SwiftUI, the App Store's page.
        public func perennialOfferCode(isPresented: Binding<Bool>) -> some View {
            modifier(OfferCodeModifier(isPresented: isPresented))
        }
    }

    private struct OfferCodeModifier: ViewModifier {
        @Binding var isPresented: Bool
        @EnvironmentObject private var model: AccessModel

        func body(content: Content) -> some View {
            if #available(iOS 16.0, macOS 15.0, *) {
                // Whatever the sheet says: the customer may have redeemed a code before it failed.
                content.offerCodeRedemption(isPresented: $isPresented) { _ in model.refresh() }
            } else {
                content.modifier(PageModifier(isPresented: $isPresented, page: StorePage.redeem))
            }
        }
    }

    /// Pages of Apple's that stand in for a sheet. They open in another app; the return to the
    /// foreground looks at the store.
    enum StorePage {
        static let subscriptions = URL(string: "https://apps.apple.com/account/subscriptions")
        static let redeem = URL(string: "https://apps.apple.com/redeem")
        static let refunds = URL(string: "https://reportaproblem.apple.com")
    }

    /// Opens a page when a flag becomes true, and takes the flag back.
    struct PageModifier: ViewModifier {
        @Binding var isPresented: Bool
        let page: URL?
        @Environment(\.openURL) private var openURL

        func body(content: Content) -> some View {
            content.onChange(of: isPresented) { isPresented in
                guard isPresented else { return }
                self.isPresented = false
                if let page { openURL(page) }
            }
        }
    }
#endif

#if canImport(SwiftUI)
    public import SwiftUI
    import StoreKit
    #if canImport(_StoreKit_SwiftUI)
        import _StoreKit_SwiftUI
    #endif
    import Foundation

    extension View {
        /// Shows the sheet in which customers redeem a code, and reads the store when the sheet
        /// closes. Before iOS 16 and macOS 15, SwiftUI has no such sheet, and the modifier opens
        /// the App Store's page instead.
        public func perennialOfferCode(isPresented: Binding<Bool>) -> some View {
            modifier(OfferCodeModifier(isPresented: isPresented))
        }
    }

    private struct OfferCodeModifier: ViewModifier {
        @Binding var isPresented: Bool
        @EnvironmentObject private var model: AccessModel

        func body(content: Content) -> some View {
            if #available(iOS 16.0, macOS 15.0, *) {
                // Refreshes the access whatever result the sheet reports, because the customer may
                // have redeemed a code before the sheet failed.
                content.offerCodeRedemption(isPresented: $isPresented) { _ in model.refresh() }
            } else {
                content.modifier(PageModifier(isPresented: $isPresented, page: StorePage.redeem))
            }
        }
    }

    /// Apple's web pages for systems that lack a sheet. A page opens in another app. The store is
    /// read when the customer returns to this app.
    enum StorePage {
        static let subscriptions = URL(string: "https://apps.apple.com/account/subscriptions")
        static let redeem = URL(string: "https://apps.apple.com/redeem")
        static let refunds = URL(string: "https://reportaproblem.apple.com")
    }

    /// Opens a page when a flag becomes true, and resets the flag.
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

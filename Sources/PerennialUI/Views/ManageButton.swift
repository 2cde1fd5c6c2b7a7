#if canImport(SwiftUI)
    public import Perennial
    import StoreKit
    public import SwiftUI
    #if canImport(_StoreKit_SwiftUI)
        import _StoreKit_SwiftUI
    #endif

    extension Perennial {
        /// A button that shows the system's sheet for subscriptions, and reads the store when the
        /// sheet closes. A Mac has no such sheet. There the button opens the page of the Apple
        /// account.
        public struct ManageButton: View {
            @Environment(\.locale) private var locale
            @State private var isPresented = false

            public init() {}

            public var body: some View {
                Button {
                    isPresented = true
                } label: {
                    Text(verbatim: Wording(locale: locale).text(.manage))
                }
                .modifier(SubscriptionSheet(isPresented: $isPresented))
            }
        }
    }

    private struct SubscriptionSheet: ViewModifier {
        @Binding var isPresented: Bool
        @EnvironmentObject private var model: AccessModel

        func body(content: Content) -> some View {
            #if canImport(UIKit) && !os(tvOS) && !os(watchOS)
                content
                    .manageSubscriptionsSheet(isPresented: $isPresented)
                    .onChange(of: isPresented) { isPresented in
                        if !isPresented { model.refresh() }
                    }
            #else
                content.modifier(
                    PageModifier(isPresented: $isPresented, page: StorePage.subscriptions))
            #endif
        }
    }
#endif

#if canImport(SwiftUI)
    import Foundation
    import Perennial
    import StoreKit
    import SwiftUI
    #if canImport(_StoreKit_SwiftUI)
        import _StoreKit_SwiftUI
    #endif

    /// A button that shows the App Store's sheet for invitations. On systems without such a sheet,
    /// the view is empty.
    struct AppleInvitation: View {
        let product: Perennial.ProductID
        @EnvironmentObject private var model: AccessModel
        @Environment(\.locale) private var locale
        @State private var subscriptionGroup: String?
        @State private var isPresented = false

        var body: some View {
            #if os(Linux) || compiler(>=6.5) && (os(iOS) || os(macOS))
                if #available(iOS 27.3, macOS 27.3, *) {
                    Button {
                        isPresented = subscriptionGroup != nil
                    } label: {
                        Text(verbatim: Wording(locale: locale).text(.invite))
                    }
                    .multiSeatInvitationSheet(
                        isPresented: $isPresented, subscriptionGroupID: subscriptionGroup ?? ""
                    ) { _ in model.refresh() }
                    .task { await load() }
                }
            #else
                EmptyView()
            #endif
        }

        private func load() async {
            let products = try? await model.perennial.products([product])
            subscriptionGroup = products?.first?.group
        }
    }
#endif

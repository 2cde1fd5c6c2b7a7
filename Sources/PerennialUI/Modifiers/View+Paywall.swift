#if canImport(SwiftUI)
    public import Foundation
    public import Perennial
    public import SwiftUI

    extension View {
        /// Shows a ``Perennial/Paywall`` in a sheet, unless an entitlement is open. The sheet
        /// closes when the entitlement opens.
        public func paywall(
            unless entitlement: Perennial.EntitlementID,
            placement: Perennial.PlacementID? = nil, isPresented: Binding<Bool>,
            terms: URL? = nil, privacy: URL? = nil
        ) -> some View {
            modifier(
                PaywallModifier(
                    access: Perennial.Entitled(entitlement), placement: placement,
                    isPresented: isPresented, terms: terms, privacy: privacy))
        }
    }

    private struct PaywallModifier: ViewModifier {
        let access: Perennial.Entitled
        let placement: Perennial.PlacementID?
        @Binding var isPresented: Bool
        let terms: URL?
        let privacy: URL?
        @Environment(\.locale) private var locale

        func body(content: Content) -> some View {
            content.sheet(
                isPresented: Binding(
                    get: { @MainActor in isPresented && !access.wrappedValue.isActive },
                    set: { @MainActor in isPresented = $0 })
            ) {
                Perennial.Paywall(placement, terms: terms, privacy: privacy) { close }
            }
            .onChange(of: access.wrappedValue.isActive) { isActive in
                if isActive { isPresented = false }
            }
            .onChange(of: isPresented) { isPresented in
                // Without this reset, the sheet would appear when the access ends.
                if isPresented, access.wrappedValue.isActive { self.isPresented = false }
            }
        }

        /// A button that closes the sheet. It is needed on a Mac, which has no other way to close
        /// the sheet.
        private var close: some View {
            HStack {
                Spacer()
                Button(Wording(locale: locale).text(.close)) { isPresented = false }
                    .keyboardShortcut(.cancelAction)
            }
        }
    }
#endif

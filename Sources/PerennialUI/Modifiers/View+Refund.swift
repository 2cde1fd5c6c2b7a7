#if canImport(SwiftUI)
    public import Perennial
    import StoreKit
    public import SwiftUI
    #if canImport(_StoreKit_SwiftUI)
        import _StoreKit_SwiftUI
    #endif

    extension View {
        /// Shows the sheet in which customers ask for a refund of the purchase that opens an
        /// entitlement. On a Mac, opens Apple's page.
        ///
        /// - Parameter asksConsent: whether to ask the customer first if the App Store may learn
        ///   how much the customer has used. The answer is sent to your server.
        public func perennialRefund(
            for entitlement: Perennial.EntitlementID, isPresented: Binding<Bool>,
            asksConsent: Bool = false
        ) -> some View {
            modifier(
                RefundModifier(
                    entitlement: entitlement, isPresented: isPresented, asksConsent: asksConsent))
        }
    }

    private struct RefundModifier: ViewModifier {
        let entitlement: Perennial.EntitlementID
        @Binding var isPresented: Bool
        let asksConsent: Bool
        @EnvironmentObject private var model: AccessModel
        @Environment(\.locale) private var locale
        @State private var isAsking = false
        @State private var notice: String?
        @State private var transaction: UInt64?

        func body(content: Content) -> some View {
            content
                .notice($notice, wording)
                .modifier(RefundSheet(transaction: $transaction) { model.refresh() })
                .alert(
                    Text(verbatim: wording.text(.consentQuestion)), isPresented: $isAsking
                ) {
                    Button(wording.text(.consentAgree)) { respond(true) }
                    Button(wording.text(.consentDecline), role: .cancel) { respond(false) }
                }
                .onChange(of: isPresented) { isPresented in
                    guard isPresented else { return }
                    self.isPresented = false
                    if asksConsent { isAsking = true } else { request() }
                }
        }

        private var wording: Wording { Wording(locale: locale) }

        private func respond(_ consents: Bool) {
            Task {
                do throws(Perennial.Failure) {
                    try await model.perennial.setRefundConsent(consents)
                } catch {
                    // A refund must be possible even if the Perennial server does not answer.
                    notice = consents ? error.text(in: locale) : nil
                }
                request()
            }
        }

        private func request() {
            Task {
                guard let product = model.perennial[entitlement].product else { return }
                let latest = await StoreKit.Transaction.latest(for: product.rawValue)
                transaction = latest?.unsafePayloadValue.id
            }
        }
    }

    /// Shows the refund sheet for a transaction, while a transaction is set.
    private struct RefundSheet: ViewModifier {
        @Binding var transaction: UInt64?
        let onDismiss: @MainActor () -> Void

        func body(content: Content) -> some View {
            let isPresented = Binding(
                get: { @MainActor in transaction != nil },
                set: { @MainActor in if !$0 { transaction = nil } })
            #if canImport(UIKit) && !os(tvOS) && !os(watchOS)
                content.refundRequestSheet(for: transaction ?? 0, isPresented: isPresented) { _ in
                    onDismiss()
                }
            #else
                content.modifier(PageModifier(isPresented: isPresented, page: StorePage.refunds))
            #endif
        }
    }
#endif

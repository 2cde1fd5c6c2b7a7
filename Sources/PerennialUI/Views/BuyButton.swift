#if canImport(SwiftUI)
    public import Perennial
    import StoreKit
    public import SwiftUI
    #if canImport(_StoreKit_SwiftUI)
        import _StoreKit_SwiftUI
    #endif

    extension Perennial {
        /// A button that buys a row's product, or a checkmark if the customer has the product.
        /// During a purchase, the button shows a spinner. Only one of these buttons buys at a time.
        public struct BuyButton: View {
            private let row: PaywallContent.Row
            private let options: PurchaseOptions

            public init(_ row: PaywallContent.Row, _ options: PurchaseOptions = PurchaseOptions()) {
                self.row = row
                self.options = options
            }

            /// Creates a button that buys a row's product, paid by one of the row's plans.
            public init(_ row: PaywallContent.Row, _ plan: PaywallContent.PlanRow) {
                self.init(row, PurchaseOptions(plan: plan.plan))
            }

            public var body: some View {
                if #available(iOS 17.0, macOS 14.0, *) {
                    SceneBuyButton(row: row, options: options)
                } else {
                    PlainBuyButton(row: row, plan: options.plan?.kind) {
                        perennial async throws(Failure) in
                        try await perennial.purchase(row.id, options)
                    }
                }
            }
        }
    }

    /// The button on systems where a view's action chooses the window of the payment sheet.
    @available(iOS 17.0, macOS 14.0, *)
    private struct SceneBuyButton: View {
        let row: Perennial.PaywallContent.Row
        let options: Perennial.PurchaseOptions
        @Environment(\.purchase) private var action

        var body: some View {
            PlainBuyButton(row: row, plan: options.plan?.kind) {
                perennial async throws(Perennial.Failure) in
                try await perennial.purchase(row.id, options, with: action)
            }
        }
    }

    private struct PlainBuyButton: View {
        let row: Perennial.PaywallContent.Row
        let plan: Perennial.Plan.Kind?
        let purchase: @MainActor (Perennial) async throws(Perennial.Failure) -> Perennial.Purchase
        @EnvironmentObject private var model: AccessModel
        @Environment(\.locale) private var locale
        @State private var notice: String?

        var body: some View {
            // The stack stays when its content changes, and so does its alert.
            HStack { button }.notice($notice, wording)
        }

        @ViewBuilder private var button: some View {
            if model.buying == choice {
                ProgressView()
            } else if let title = row.actionTitle {
                Button {
                    buy()
                } label: {
                    Text(verbatim: title)
                }
                .tapsAlone()
                .accessibilityLabel(Text(verbatim: "\(title), \(row.title)"))
                .disabled(!row.canBuy || model.buying != nil)
            } else {
                Image(systemName: row.hasPaymentProblem ? "exclamationmark.triangle" : "checkmark")
                    .accessibilityLabel(
                        Text(
                            verbatim: wording.text(
                                row.hasPaymentProblem ? .paymentProblem : .owned)))
            }
        }

        private var wording: Wording { Wording(locale: locale) }
        private var choice: AccessModel.Choice { .init(product: row.id, plan: plan) }

        private func buy() {
            Task {
                let perennial = model.perennial
                notice = await model.buy(choice, wording) { () async throws(Perennial.Failure) in
                    try await purchase(perennial)
                }
            }
        }
    }

    extension View {
        /// In a row of a list, makes only the button react to a tap, not the whole row.
        @ViewBuilder fileprivate func tapsAlone() -> some View {
            #if canImport(UIKit)
                buttonStyle(.borderless)
            #else
                self
            #endif
        }
    }
#endif

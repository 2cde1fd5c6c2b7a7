#if canImport(SwiftUI)
    public import Foundation
    public import Perennial
    public import SwiftUI

    extension Perennial {
        /// A whole paywall screen: rows with prices and terms, a restore button, and links to your
        /// terms and your privacy policy, which App Review requires beside a subscription.
        public struct Paywall<Header: View>: View {
            private let placement: PlacementID?
            private let terms: URL?
            private let privacy: URL?
            private let header: Header
            @EnvironmentObject private var model: AccessModel
            @Environment(\.locale) private var locale
            @Environment(\.calendar) private var calendar

            public init(
                _ placement: PlacementID? = nil, terms: URL?, privacy: URL?,
                @ViewBuilder header: () -> Header
            ) {
                self.placement = placement
                self.terms = terms
                self.privacy = privacy
                self.header = header()
            }

            public var body: some View {
                ScrollView {
                    VStack(alignment: .leading, spacing: 16) {
                        header
                        AccessHeadline(placement).font(.headline)
                        shop
                        PaywallFooter(terms: terms, privacy: privacy)
                    }
                    .padding()
                }
            }

            @ViewBuilder private var shop: some View {
                if let paywall = model.paywallContent(placement, locale: locale, calendar: calendar)
                {
                    ForEach(paywall.rows) { row in
                        if row.plans.isEmpty { ProductRow(row: row) } else { PlansRow(row: row) }
                    }
                } else if model.offerings[placement] == nil {
                    ProgressView()
                } else {
                    PaywallFailure(placement: placement)
                }
            }
        }
    }

    /// The row of one product.
    private struct ProductRow: View {
        let row: Perennial.PaywallContent.Row

        var body: some View {
            VStack(alignment: .leading, spacing: 4) {
                HStack {
                    VStack(alignment: .leading, spacing: 2) {
                        Text(verbatim: row.title).font(.headline)
                        Text(verbatim: row.terms ?? row.price).font(.subheadline)
                    }
                    Spacer()
                    Perennial.BuyButton(row)
                }
                if let trial = row.trial { Text(verbatim: trial).font(.subheadline) }
                if let status = row.status { Text(verbatim: status).font(.subheadline) }
                if let disclosure = row.disclosure {
                    Text(verbatim: disclosure).font(.caption).foregroundColor(.secondary)
                }
            }
        }
    }

    /// The row of a product that can be paid in more than one way.
    private struct PlansRow: View {
        let row: Perennial.PaywallContent.Row

        var body: some View {
            VStack(alignment: .leading, spacing: 8) {
                Text(verbatim: row.title).font(.headline)
                if let status = row.status { Text(verbatim: status).font(.subheadline) }
                ForEach(row.plans) { PlanOffer(row: row, plan: $0) }
            }
        }
    }

    /// One way to pay: the price of a payment and, beside it, the total to which the customer
    /// commits.
    private struct PlanOffer: View {
        let row: Perennial.PaywallContent.Row
        let plan: Perennial.PaywallContent.PlanRow

        var body: some View {
            VStack(alignment: .leading, spacing: 4) {
                HStack {
                    VStack(alignment: .leading, spacing: 2) {
                        Text(verbatim: plan.title).font(.subheadline)
                        Text(verbatim: plan.terms).font(.subheadline)
                        if let total = plan.total { Text(verbatim: total).font(.subheadline) }
                    }
                    Spacer()
                    Perennial.BuyButton(row, plan)
                }
                if let trial = plan.trial { Text(verbatim: trial).font(.subheadline) }
                Text(verbatim: plan.disclosure).font(.caption).foregroundColor(.secondary)
            }
        }
    }

    private struct PaywallFailure: View {
        let placement: Perennial.PlacementID?
        @EnvironmentObject private var model: AccessModel
        @Environment(\.locale) private var locale

        var body: some View {
            let wording = Wording(locale: locale)
            VStack(alignment: .leading, spacing: 8) {
                Text(verbatim: wording.text(.shopFailed))
                Button(wording.text(.tryAgain)) {
                    Task { await model.load(placement) }
                }
            }
        }
    }

    private struct PaywallFooter: View {
        let terms: URL?
        let privacy: URL?
        @EnvironmentObject private var model: AccessModel
        @Environment(\.locale) private var locale

        var body: some View {
            let wording = Wording(locale: locale)
            VStack(alignment: .leading, spacing: 8) {
                Perennial.RestoreButton()
                if !model.perennial.snapshot.subscriptions.isEmpty { Perennial.ManageButton() }
                if let terms {
                    Link(destination: terms) { Text(verbatim: wording.text(.termsOfUse)) }
                }
                if let privacy {
                    Link(destination: privacy) { Text(verbatim: wording.text(.privacyPolicy)) }
                }
            }
            .font(.footnote)
        }
    }
#endif

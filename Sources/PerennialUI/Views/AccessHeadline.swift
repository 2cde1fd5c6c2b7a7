#if canImport(SwiftUI)
    public import Perennial
    public import SwiftUI

    extension Perennial {
        /// One line about the customer's access, such as "Subscribed: 12 days left". The line is
        /// empty until something is known.
        public struct AccessHeadline: View {
            private let placement: PlacementID?
            @EnvironmentObject private var model: AccessModel
            @Environment(\.locale) private var locale
            @Environment(\.calendar) private var calendar

            /// - Parameter placement: the placement whose products decide which entitlements count.
            ///   If nil, the default placement.
            public init(_ placement: PlacementID? = nil) { self.placement = placement }

            public var body: some View {
                // The number of days left changes without an event, so the view is drawn again once
                // a minute.
                TimelineView(.everyMinute) { _ in
                    if let text = headline?.text { Text(verbatim: text) }
                }
                .modifier(LoadModifier(placement: placement))
            }

            private var headline: PaywallContent.Headline? {
                let paywall = model.paywallContent(placement, locale: locale, calendar: calendar)
                if let paywall { return paywall.headline }
                guard model.offerings[placement]?.failure != nil else { return nil }
                // Without the offering, all open access is considered.
                let empty = Offering(id: "", products: [])
                return PaywallContent(
                    empty, model.perennial.snapshot, at: model.perennial.now, locale: locale,
                    calendar: calendar
                ).headline
            }
        }
    }

    /// Loads a placement when the view appears, and when its offers must be checked again.
    struct LoadModifier: ViewModifier {
        let placement: Perennial.PlacementID?
        @EnvironmentObject private var model: AccessModel

        func body(content: Content) -> some View {
            content.task(id: model.basis(of: placement)) { await model.load(placement) }
        }
    }
#endif

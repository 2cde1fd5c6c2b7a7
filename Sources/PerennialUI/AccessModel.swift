#if canImport(SwiftUI)
    import Combine
    import Foundation
    import Perennial
    import StoreKit
    import SwiftUI

    /// The state that the views of this module share. When the state changes, the views are drawn
    /// again.
    ///
    /// The state contains no copy of the access: a view reads ``Perennial/snapshot`` itself, so
    /// that it never shows an older snapshot.
    @MainActor
    final class AccessModel: ObservableObject {
        let perennial: Perennial
        /// Incremented with each new snapshot.
        @Published private(set) var revision = 0
        /// The loaded offerings, by placement.
        @Published private(set) var offerings: [Perennial.PlacementID?: Offered] = [:]
        /// Incremented with each change of the App Store's country.
        @Published private(set) var storefronts = 0
        private var loading: [Basis: Task<Void, Never>] = [:]
        /// The product and plan that are being bought. Nil if nothing is being bought.
        @Published private(set) var buying: Choice?
        private var waitingForFree: [CheckedContinuation<Void, Never>] = []

        /// The product and plan that a button buys.
        struct Choice: Hashable {
            var product: Perennial.ProductID
            var plan: Perennial.Plan.Kind?
        }

        struct Offered {
            var offering: Perennial.Offering?
            var failure: Perennial.Failure?
        }

        init(_ perennial: Perennial) { self.perennial = perennial }

        /// Follows the snapshots. Runs until the task is cancelled.
        func follow() async {
            for await _ in perennial.changes { revision &+= 1 }
        }

        /// Follows the changes of the App Store's country. Runs until the task is cancelled.
        func followStorefront() async {
            for await _ in StoreKit.Storefront.updates {
                // After the refresh, the prices are those of the new country.
                await Task { try? await perennial.refresh() }.value
                storefronts += 1
            }
        }

        /// Requests the newest state from the server and the store.
        ///
        /// Runs in a separate task: StoreKit answers with empty lists in a cancelled task, and
        /// SwiftUI cancels the tasks of a view.
        func refresh() {
            Task {
                do {
                    try await perennial.refresh()
                } catch {
                    // The snapshot stays the same. The SDK tries again when the app comes to the
                    // foreground.
                    revision &+= 1
                }
            }
        }

        /// The state on which a placement's offers depend. When this state changes, the offers are
        /// checked again.
        struct Basis: Hashable {
            var placement: Perennial.PlacementID?
            var customer: String
            /// The products and states of the customer's subscriptions.
            var plans: [String]
            var storefronts: Int
        }

        func basis(of placement: Perennial.PlacementID?) -> Basis {
            let snapshot = perennial.snapshot
            return Basis(
                placement: placement, customer: snapshot.customer.id,
                plans: snapshot.subscriptions.map { "\($0.product.rawValue) \($0.state.rawValue)" },
                storefronts: storefronts)
        }

        /// Loads a placement. Until the load has ended, the earlier content is shown.
        ///
        /// The load runs in a separate task, for the same reason as in ``refresh()``.
        func load(_ placement: Perennial.PlacementID?) async {
            let basis = basis(of: placement)
            let task = loading[basis] ?? Task { await load(by: basis) }
            loading[basis] = task
            await task.value
            loading[basis] = nil
        }

        private func load(by basis: Basis) async {
            let placement = basis.placement
            do throws(Perennial.Failure) {
                if offerings[placement]?.offering == nil {
                    // Prices are shown first, because only offers depend on the server's answer.
                    offerings[placement] = Offered(
                        offering: try await perennial.offering(placement))
                }
                let offering = try await perennial.offeringWithEligibility(placement)
                // If the basis has changed, another load is running and will show the result.
                guard basis == self.basis(of: placement) else { return }
                offerings[placement] = Offered(offering: offering)
            } catch {
                // The products that were loaded before are still for sale.
                let earlier = offerings[placement]?.offering
                offerings[placement] = Offered(offering: earlier, failure: error)
            }
        }

        /// The present content of a placement. Nil until the placement was loaded.
        func paywallContent(
            _ placement: Perennial.PlacementID?, locale: Locale, calendar: Calendar
        ) -> Perennial.PaywallContent? {
            offerings[placement]?.offering.map {
                Perennial.PaywallContent(
                    $0, perennial.snapshot, at: perennial.now, locale: locale, calendar: calendar)
            }
        }

        /// Waits while a product is being bought.
        func waitUntilFree() async {
            while buying != nil {
                await withCheckedContinuation { waitingForFree.append($0) }
            }
        }

        private func finishBuying() {
            buying = nil
            let waiting = waitingForFree
            waitingForFree = []
            for continuation in waiting { continuation.resume() }
        }

        /// Buys one product at a time. A tap while another product is being bought does nothing.
        ///
        /// - Returns: a sentence for the customer, or nil if there is nothing to say.
        func buy(
            _ choice: Choice, _ wording: Wording,
            by purchase: @MainActor () async throws(Perennial.Failure) -> Perennial.Purchase
        ) async -> String? {
            guard buying == nil else { return nil }
            buying = choice
            defer { finishBuying() }
            do throws(Perennial.Failure) {
                return wording.notice(of: try await purchase().outcome)
            } catch {
                return error.text(in: wording.locale)
            }
        }
    }

    extension Wording {
        /// The text to show after a purchase. Nil if the screen already shows the outcome, or if
        /// nothing happened.
        func notice(of outcome: Perennial.Purchase.Outcome) -> String? {
            switch outcome {
            case .pending: text(.purchasePending)
            case .planChangeScheduled: text(.purchaseScheduled)
            case .alreadyHad: text(.purchaseHad)
            case .belongsToAnother: text(.purchaseOfAnother)
            default: nil
            }
        }

        /// The text to show after a restore. Nil if the customer must agree first.
        func notice(of outcome: Perennial.Restoration.Outcome) -> String? {
            switch outcome {
            case .restored: text(.restored)
            case .nothingNew: text(.restoredNothingNew)
            case .nothingFound: text(.restoredNothing)
            case .refused: text(.restoreRefused)
            default: nil
            }
        }
    }
#endif

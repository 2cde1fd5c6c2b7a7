import Ledger
import Synchronization

/// Remembers which products have been looked up in the configuration, so that each that gives
/// nothing is logged once.
final class ProductsLookedUp: Sendable {
    /// Those that come after them are not looked up.
    static let productsMax = 1000

    private struct Place: Hashable {
        let app: AppID
        let product: ProductID
    }

    private let known = Mutex<Set<Place>>([])

    /// Whether a product was not asked for before.
    func isNew(_ product: ProductID, of app: AppID) -> Bool {
        known.withLock { known in
            known.count < Self.productsMax
                && known.insert(Place(app: app, product: product)).inserted
        }
    }
}

extension Engine {
    /// Logs what was paid for and gives nothing. What is used up may well be counted by the app.
    func lookUpProducts(of attestation: Attestation) {
        guard let app = apps[attestation.document.app] else { return }
        for fact in attestation.facts {
            guard case .payment(let payment) = fact.statement, payment.kind != .consumable,
                productsLookedUp.isNew(payment.product, of: app.id), !app.names(payment.product)
            else { continue }
            logger.warning(
                "A product was bought that gives nothing: perennial.yaml does not name it.",
                metadata: ["app": "\(app.id)", "product": "\(payment.product)"])
        }
    }
}

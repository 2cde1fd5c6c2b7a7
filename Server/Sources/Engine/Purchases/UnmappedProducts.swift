import Ledger
import Synchronization

/// Tracks which products were looked up in the configuration, so that each product that gives
/// nothing is logged only once.
final class UnmappedProducts: Sendable {
    /// Products beyond this number are not looked up.
    static let productsMax = 1000

    private struct Place: Hashable {
        let app: AppID
        let product: ProductID
    }

    private let known = Mutex<Set<Place>>([])

    /// Whether the product has not been looked up before.
    func isNew(_ product: ProductID, of app: AppID) -> Bool {
        known.withLock { known in
            known.count < Self.productsMax
                && known.insert(Place(app: app, product: product)).inserted
        }
    }
}

extension Engine {
    /// Logs products that were bought and give nothing. Consumables are excluded, because the app
    /// may count them itself.
    func logUnmappedProducts(of attestation: VerifiedDocument) {
        guard let app = apps[attestation.document.app] else { return }
        for fact in attestation.facts {
            guard case .payment(let payment) = fact.statement, payment.kind != .consumable,
                unmappedProducts.isNew(payment.product, of: app.id), !app.mentions(payment.product)
            else { continue }
            logger.warning(
                "a product was bought that gives nothing, because perennial.yaml does not name it",
                metadata: ["app": "\(app.id)", "product": "\(payment.product)"])
        }
    }
}

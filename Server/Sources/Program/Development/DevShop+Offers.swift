import AppStoreFormats
import Crypto
import Foundation

extension DevShop {
    /// The example shop with an added promotional offer for current and former subscribers: three
    /// months at half price.
    static func shop(_ example: StoreKitFile) -> StoreKitFile {
        var shop = example
        for (group, product) in shop.subscriptions where product.id == "pro.monthly" {
            guard let index = shop.groups[group].subscriptions.firstIndex(of: product),
                let month = product.subscription?.period
            else { continue }
            shop.groups[group].subscriptions[index].subscription?.promotionalOffers = [
                StoreKitOffer(
                    type: .promotional, id: "stay", discount: .payAsYouGo, period: month,
                    periodCount: 3, price: 4990)
            ]
        }
        return shop
    }

    /// The key that signs offers: the key of earlier runs if there is one, otherwise a new key.
    func offersKey() throws -> StoreKitOffersKey {
        let file = folder.appending(path: "offers-key")
        if let stored = FileManager.default.contents(atPath: file.path) {
            return StoreKitOffersKey(
                id: Self.offersKeyID, privateKey: String(decoding: stored, as: UTF8.self))
        }
        let key = P256.Signing.PrivateKey().derRepresentation.base64EncodedString()
        try Data(key.utf8).write(to: file, options: .atomic)
        return StoreKitOffersKey(id: Self.offersKeyID, privateKey: key)
    }

    private static let offersKeyID = "DE7B12D5"
}

extension StoreKitFile {
    fileprivate var subscriptions: [(group: Int, product: StoreKitProduct)] {
        groups.enumerated().flatMap { group in
            group.element.subscriptions.map { (group: group.offset, product: $0) }
        }
    }
}

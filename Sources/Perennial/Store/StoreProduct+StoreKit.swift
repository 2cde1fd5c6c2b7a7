internal import Foundation
internal import StoreKit

extension StoreProduct {
    init(_ product: StoreKit.Product) {
        let subscription = product.subscription
        self.init(
            id: product.id, kind: Perennial.Product.Kind(product.type), name: product.displayName,
            details: product.description, price: product.price,
            displayPrice: product.displayPrice,
            currencyCode: Self.currencyCode(of: product),
            period: subscription.map { Perennial.Period($0.subscriptionPeriod) },
            plans: subscription.map(Self.plans) ?? [],
            group: subscription?.subscriptionGroupID,
            offers: subscription.map(Self.offers) ?? [],
            isFamilyShareable: product.isFamilyShareable, seatTiers: Self.seatTiers(of: product),
            storeProduct: product)
    }

    private static func currencyCode(of product: StoreKit.Product) -> String? {
        guard #available(iOS 16, macOS 13, tvOS 16, watchOS 9, *) else { return nil }
        return product.priceFormatStyle.currencyCode
    }

    private static func offers(
        _ subscription: StoreKit.Product.SubscriptionInfo
    ) -> [Perennial.Offer] {
        var offers: [Perennial.Offer] = []
        if let offer = subscription.introductoryOffer {
            offers.append(Perennial.Offer(offer, .introductory))
        }
        offers += subscription.promotionalOffers.map { Perennial.Offer($0, .promotional) }
        if #available(iOS 18, macOS 15, tvOS 18, watchOS 11, visionOS 2, *) {
            offers += subscription.winBackOffers.map { Perennial.Offer($0, .winBack) }
        }
        return offers
    }
}

extension Perennial.Product.Kind {
    init(_ type: StoreKit.Product.ProductType) {
        switch type {
        case .autoRenewable: self = .renewing
        case .nonRenewable: self = .term
        case .consumable: self = .consumable
        case .nonConsumable: self = .nonConsumable
        default: self.init(rawValue: type.rawValue)
        }
    }
}

extension Perennial.Period {
    init(_ period: StoreKit.Product.SubscriptionPeriod) {
        let unit: Unit =
            switch period.unit {
            case .day: .day
            case .week: .week
            case .month: .month
            case .year: .year
            @unknown default: .day
            }
        self.init(period.value, unit)
    }
}

extension Perennial.Offer {
    init(_ offer: StoreKit.Product.SubscriptionOffer, _ kind: Kind) {
        let mode: PaymentMode =
            switch offer.paymentMode {
            case .freeTrial: .freeTrial
            case .payAsYouGo: .payAsYouGo
            case .payUpFront: .payUpFront
            default: PaymentMode(rawValue: offer.paymentMode.rawValue)
            }
        self.init(
            id: offer.id, kind: kind, paymentMode: mode, price: offer.price,
            displayPrice: offer.displayPrice, period: Perennial.Period(offer.period),
            periodCount: offer.periodCount)
    }
}

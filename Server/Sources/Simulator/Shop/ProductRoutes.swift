import AppStoreFormats

// The response to StoreKit's product request.

extension SimulatorRoute {
    static let productRoutes = [
        get(
            "/_sim/products", "The shop's products; for a device, with its prices and eligibility.",
            query: ["ids", "device"], gives: .json("Products")
        ) { simulator, call in
            if let device = call.query["device"] {
                try await simulator.check(.products, on: device)
            }
            return .json(
                try await simulator.products(call.query["ids"], for: call.query["device"]))
        }
    ]
}

extension AppStoreSimulator {
    /// All products, or those of a comma-separated list. As in StoreKit, an id that is not for sale
    /// is not an error; it is listed separately.
    fileprivate func products(_ ids: String?, for deviceID: String?) throws -> JSON {
        let device = try deviceID.map { id throws(SimulatorProblem) in try world.device(id) }
        let home = settings.shop.settings.storefront.flatMap(Storefront.named)
        let counter = ShopView(
            world: world, account: device?.account,
            introductory: device.map { introductoryEligibility(on: $0) } ?? [:],
            storefront: device?.storefront ?? home ?? .unitedStates, now: clock.now)
        let wished = ids.map { $0.split(separator: ",").map(String.init) }
        let all = wished ?? settings.shop.products.map(\.id)
        var (known, unknown): ([JSON], [JSON]) = ([], [])
        for id in all {
            if let product = try? world.productForSale(
                id, in: counter.storefront, at: clock.now)
            {
                known.append(counter.json(of: product))
            } else {
                unknown.append(.string(id))
            }
        }
        return ["products": .array(known), "invalid_ids": .array(unknown)]
    }
}

/// The view of the shop from an account and a storefront.
private struct ShopView {
    let world: World
    /// The account whose eligibility to show. If nil, the response contains no eligibility.
    let account: Account.Key?
    /// Eligibility for the introductory offer as reported by the device, by group.
    let introductory: [String: Bool]
    let storefront: Storefront
    let now: AppStoreDate

    func json(of product: StoreKitProduct) -> JSON {
        [
            "product_id": .string(product.id), "type": product.type.json,
            "price": .string(Self.amount(product.price)),
            "price_milliunits": .integer(product.price), "currency": .string(storefront.currency),
            "display_name": .string(product.displayName),
            "description": .string(product.description),
            "family_shareable": .bool(product.isFamilyShareable),
            "subscription": product.subscription.map { json(of: $0, product) } ?? .null,
        ]
    }

    private func json(of terms: StoreKitSubscription, _ product: StoreKitProduct) -> JSON {
        func list(_ offers: [StoreKitOffer]) -> JSON {
            .array(offers.map { json(of: $0, product) })
        }
        return [
            "group_id": .string(terms.groupID), "level": .integer(terms.level),
            "period": .string(terms.period.description),
            "introductory_offer": terms.introductoryOffer.map { json(of: $0, product) } ?? .null,
            "introductory_offers": list(terms.introductoryOffers),
            "promotional_offers": list(terms.promotionalOffers),
            "code_offers": list(terms.codeOffers), "win_back_offers": list(terms.winBackOffers),
            "billing_plans": .array(terms.billingPlans.map(\.json)),
        ]
    }

    private func json(of offer: StoreKitOffer, _ product: StoreKitProduct) -> JSON {
        var members: [JSON.Member] = [
            .init("id", offer.id.map { .string($0) } ?? .null),
            .init("type", offer.type.json), .init("discount", offer.discount.json),
            .init("period", .string(offer.period.description)),
            .init("period_count", .integer(Int64(offer.periodCount))),
            .init("price", .string(Self.amount(offer.price))),
            .init("price_milliunits", .integer(offer.price)),
            .init("billing_plan", offer.billingPlan?.json ?? .null),
        ]
        if let account {
            var refusal = world.refusal(of: offer, product, to: account)
            let isReported = introductory[product.subscription?.groupID ?? ""]
            if offer.type == .introductory, let isReported, isReported != (refusal == nil) {
                refusal = isReported ? nil : "the device still shows an earlier result."
            }
            members.append(.init("eligible", .bool(refusal == nil)))
            members.append(.init("reason", refusal.map { .string($0) } ?? .null))
        }
        return .object(members)
    }

    fileprivate static func amount(_ milliunits: Int64) -> String {
        ProductRepresentation.amount(milliunits)
    }
}

extension StoreKitBillingPlan {
    fileprivate var json: JSON {
        [
            "type": type.json, "price": .string(ShopView.amount(price)),
            "commitment_price": .string(ShopView.amount(commitmentPrice)),
            "enabled": .bool(isEnabled),
        ]
    }
}

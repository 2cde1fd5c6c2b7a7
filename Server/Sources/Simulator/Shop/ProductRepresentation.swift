import AppStoreFormats
import Foundation

/// One product as StoreKit shows it on a device: names in the customer's language, prices in the
/// form of the storefront, and Apple's JSON, which StoreKit returns as `jsonRepresentation`.
///
/// Apple does not document that JSON. Its members are those that StoreKit was seen to read; the
/// names of offers on billing plans (`billingPlans`) are guesses by analogy.
struct ProductRepresentation: Sendable {
    /// Maximum number of characters of a locale's identifier.
    static let localeLengthMax = 40

    let product: StoreKitProduct
    /// The group of a subscription. Nil for other products.
    let group: StoreKitGroup?
    let storefront: Storefront
    /// The customer's locale, such as `de_DE`.
    let locale: Locale
    /// The tiers of a product that is sold in seats. Nil for other products.
    var seats: [SeatPrices.Step]?

    /// The locale of a device: the named one, or the usual one of its storefront.
    static func locale(_ name: String?, in storefront: Storefront) throws(SimulatorProblem)
        -> Locale
    {
        if let name {
            let isPlain = name.allSatisfy { $0.isASCII && ($0.isLetter || "_-".contains($0)) }
            guard isPlain, name.count <= localeLengthMax, name.count > 1 else {
                throw .badRequest(
                    "\(name) is not a locale.", remedy: "Send an identifier such as de_DE.")
            }
            return Locale(identifier: name.replacing("-", with: "_"))
        }
        let language = Locale.Language(identifier: "und-\(storefront.country)")
        let likely = Locale.Language(identifier: language.maximalIdentifier)
        let region = Locale(identifier: "und_\(storefront.country)").region?.identifier
        let code = likely.languageCode?.identifier ?? "en"
        return Locale(identifier: "\(code == "und" ? "en" : code)_\(region ?? "US")")
    }

    var json: JSON {
        let json: JSON = [
            "product_id": .string(product.id), "display_name": .string(words.displayName),
            "description": .string(words.description),
            "display_price": .string(text(product.price)),
            "price_milliunits": .integer(product.price), "currency": .string(storefront.currency),
            "locale": .string(locale.identifier), "json_representation": representation,
        ]
        guard let seats else { return json }
        return json.adding("supports_multi_seat", true)
            .adding("price_tiers", .array(seats.indices.map { tier($0, of: seats) }))
    }

    /// The JSON of a tier. The last tier has no maximum.
    private func tier(_ place: Int, of steps: [SeatPrices.Step]) -> JSON {
        let step = steps[place]
        let json: JSON = [
            "minimum_seats": .integer(step.from), "price": .string(Self.amount(step.price)),
            "price_milliunits": .integer(step.price), "display_price": .string(text(step.price)),
        ]
        guard place + 1 < steps.count else { return json }
        return json.adding("maximum_seats", .integer(steps[place + 1].from - 1))
    }

    private var words: StoreKitLocalization {
        StoreKitLocalization.best(of: product.localizations, for: locale)
            ?? StoreKitLocalization(
                locale: "", displayName: product.displayName, description: product.description)
    }

    /// The name of the group in the customer's language.
    private var groupName: String {
        let all = group?.localizations ?? []
        return StoreKitLocalization.best(of: all, for: locale)?.displayName ?? group?.name ?? ""
    }

    private var representation: JSON {
        [
            "id": .string(product.id), "type": "in-apps",
            "href": .string("/v1/catalog/\(storefront.country.lowercased())/in-apps/\(product.id)"),
            "attributes": .object(attributes),
        ]
    }

    private var attributes: [JSON.Member] {
        var members: [JSON.Member] = [
            .init("offerName", .string(product.id)), .init("name", .string(words.displayName)),
            .init("description", ["standard": .string(words.description)]),
            .init("kind", product.type.json),
            .init(
                "icuLocale", .string("\(locale.identifier)@currency=\(storefront.currency)")),
            .init("isFamilyShareable", .integer(product.isFamilyShareable ? 1 : 0)),
            .init("isSubscription", .integer(product.subscription == nil ? 0 : 1)),
            .init("offers", .array([buyOffer])),
        ]
        if let terms = product.subscription {
            members += [
                .init("subscriptionFamilyId", .string(terms.groupID)),
                .init("subscriptionFamilyName", .string(groupName)),
                .init("subscriptionFamilyRank", .integer(terms.level)),
            ]
        }
        return members
    }

    private var buyOffer: JSON {
        var members: [JSON.Member] = [
            .init("type", "buy"), .init("currencyCode", .string(storefront.currency)),
            .init("price", .string(Self.amount(product.price))),
            .init("priceFormatted", .string(text(product.price))),
        ]
        if let terms = product.subscription {
            let listed = terms.introductoryOffers + terms.promotionalOffers + terms.winBackOffers
            members += [
                .init("recurringSubscriptionPeriod", .string(terms.period.description)),
                .init("discounts", .array(listed.map { json(of: $0) })),
                .init(
                    "billingPlans",
                    .array(terms.billingPlans.filter(\.isEnabled).map { json(of: $0) })),
            ]
        }
        return .object(members)
    }

    private func json(of offer: StoreKitOffer) -> JSON {
        var members: [JSON.Member] = [
            .init("type", .string(Self.kind(of: offer))),
            .init("modeType", .string(Self.mode(of: offer))),
            .init("numOfPeriods", .integer(Int64(offer.periodCount))),
            .init("recurringSubscriptionPeriod", .string(offer.period.description)),
            .init("price", .string(Self.amount(offer.price))),
            .init("priceFormatted", .string(text(offer.price))),
        ]
        if let id = offer.id { members.append(.init("id", .string(id))) }
        if let plan = offer.billingPlan { members.append(.init("billingPlanType", plan.json)) }
        return .object(members)
    }

    private func json(of plan: StoreKitBillingPlan) -> JSON {
        [
            "billingPlanType": plan.type.json, "price": .string(Self.amount(plan.price)),
            "priceFormatted": .string(text(plan.price)),
            "commitmentPrice": .string(Self.amount(plan.commitmentPrice)),
            "commitmentPriceFormatted": .string(text(plan.commitmentPrice)),
        ]
    }

    private static func kind(of offer: StoreKitOffer) -> String {
        switch offer.type {
        case .introductory: "IntroOffer"
        case .winBack: "WinbackOffer"
        default: "AdhocOffer"
        }
    }

    private static func mode(of offer: StoreKitOffer) -> String {
        switch offer.discount {
        case .freeTrial: "FreeTrial"
        case .payAsYouGo: "PayAsYouGo"
        default: "PayUpFront"
        }
    }

    /// A price in the form that the customer reads.
    private func text(_ milliunits: Int64) -> String {
        (Decimal(milliunits) / 1000).formatted(
            .currency(code: storefront.currency).locale(locale))
    }

    /// A price in the form for programs, with two or three decimals.
    static func amount(_ milliunits: Int64) -> String {
        let decimals = String(milliunits % 1000 + 1000).dropFirst()
        return "\(milliunits / 1000)." + (decimals.last == "0" ? decimals.prefix(2) : decimals)
    }
}

extension StoreKitLocalization {
    /// The localization for a customer: one of the same language and country, otherwise one of the
    /// language, otherwise the first. Nil if the list is empty.
    fileprivate static func best(of all: [Self], for locale: Locale) -> Self? {
        let language = locale.language.languageCode?.identifier ?? ""
        return all.first { $0.locale == locale.identifier }
            ?? all.first { $0.locale.prefix { $0 != "_" } == language } ?? all.first
    }
}

extension AppStoreSimulator {
    /// The products that StoreKit shows on a device: all, or those of a comma-separated list of
    /// ids.
    func products(_ ids: String?, on deviceID: String, locale name: String?) throws -> JSON {
        let storefront = try world.device(deviceID).storefront
        let locale = try ProductRepresentation.locale(name, in: storefront)
        let wished = ids.map { $0.split(separator: ",").map(String.init) }
        var (found, unknown): ([JSON], [JSON]) = ([], [])
        let isEmpty = isEmptyAfterLaunch(on: deviceID) || has(.emptyProducts, on: deviceID)
        for id in wished ?? settings.shop.products.map(\.id) {
            let product = try? world.productForSale(id, in: storefront, at: clock.now)
            guard let product, !isEmpty else {
                unknown.append(.string(id))
                continue
            }
            let group = settings.shop.groups.first { $0.id == product.subscription?.groupID }
            var shown = ProductRepresentation(
                product: product, group: group, storefront: storefront, locale: locale)
            if !world.productsWithoutSeats.contains(id) {
                shown.seats = settings.rules.seats.steps(
                    of: id, at: product.price, in: storefront.country)
            }
            found.append(shown.json)
        }
        return ["products": .array(found), "invalid_ids": .array(unknown)]
    }
}

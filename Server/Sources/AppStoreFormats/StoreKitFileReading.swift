// How a `.storekit` file becomes values. What counts as a product is looked for in every section,
// as Xcode does.

extension StoreKitFile {
    /// Products in one file; App Store Connect allows 10,000 for an app.
    package static let productsMax = 10_000

    /// Reads the file's text. How long it may be is the caller's limit.
    package init(parsing bytes: some Sequence<UInt8>) throws(StoreKitFileFailure) {
        let json: JSON
        do { json = try JSON(parsing: bytes) } catch {
            throw StoreKitFileFailure("is no JSON: \(error)", at: "the file")
        }
        try self.init(json: json)
    }

    /// Reads a file that is a JSON value already.
    package init(json: JSON) throws(StoreKitFileFailure) {
        guard json.members != nil else {
            throw StoreKitFileFailure("is no JSON object", at: "the file")
        }
        var oneTime: [StoreKitProduct] = []
        for key in ["products", "nonRenewingSubscriptions"] {
            for product in json[key]?.array ?? [] {
                oneTime.append(try Self.oneTimeProduct(product))
            }
        }
        var groups: [StoreKitGroup] = []
        for group in json["subscriptionGroups"]?.array ?? [] {
            groups.append(try Self.group(group))
        }
        self.init(
            oneTimeProducts: oneTime, groups: groups,
            settings: StoreKitSettings(json["settings"] ?? .null),
            majorVersion: json["version"]?["major"]?.integer ?? 1)
        try checkProducts()
    }

    private func checkProducts() throws(StoreKitFileFailure) {
        guard products.count <= Self.productsMax else {
            throw StoreKitFileFailure("has more than \(Self.productsMax) products", at: "the file")
        }
        var seen: Set<String> = []
        for product in products where !seen.insert(product.id).inserted {
            throw StoreKitFileFailure("stands twice: remove one", at: "product \(product.id)")
        }
    }

    private static func oneTimeProduct(_ json: JSON) throws(StoreKitFileFailure) -> StoreKitProduct
    {
        let id = try text("productID", of: json, at: "a product")
        switch json["type"]?.string {
        case "Consumable": return try product(json, id: id, type: .consumable)
        case "NonConsumable": return try product(json, id: id, type: .nonConsumable)
        case "NonRenewingSubscription": return try product(json, id: id, type: .nonRenewing)
        case "RecurringSubscription":
            throw StoreKitFileFailure(
                "a recurring subscription belongs into subscriptionGroups: move it there",
                at: "product \(id)")
        case let other:
            throw StoreKitFileFailure(
                "the type \(other ?? "(none)") is not known", at: "product \(id)")
        }
    }

    private static func product(
        _ json: JSON, id: String, type: ProductType
    ) throws(StoreKitFileFailure) -> StoreKitProduct {
        let words = json["localizations"]?.array?.first
        return StoreKitProduct(
            id: id, referenceName: json["referenceName"]?.string ?? id, type: type,
            price: try price(of: json, at: "product \(id)"),
            isFamilyShareable: json["familyShareable"]?.bool ?? false,
            displayName: words?["displayName"]?.string ?? "",
            description: words?["description"]?.string ?? "")
    }

    private static func group(_ json: JSON) throws(StoreKitFileFailure) -> StoreKitGroup {
        let id = try text("id", of: json, at: "a subscription group")
        var subscriptions: [StoreKitProduct] = []
        for subscription in json["subscriptions"]?.array ?? [] {
            subscriptions.append(try Self.subscription(subscription, groupID: id))
        }
        let name = json["name"]?.string ?? id
        return StoreKitGroup(id: id, name: name, subscriptions: subscriptions)
    }

    private static func subscription(
        _ json: JSON, groupID: String
    ) throws(StoreKitFileFailure) -> StoreKitProduct {
        let id = try text("productID", of: json, at: "a subscription of group \(groupID)")
        let place = "product \(id)"
        var product = try product(json, id: id, type: .autoRenewable)
        // Version 5 repeats the one in the other; where they differ the list is the newer.
        let listed = json["introductoryOffers"]?.array?.first
        let single = json["introductoryOffer"].flatMap { $0 == .null ? nil : $0 }
        product.subscription = StoreKitSubscription(
            groupID: groupID, level: json["groupNumber"]?.integer ?? 1,
            period: try period("recurringSubscriptionPeriod", of: json, at: place),
            introductoryOffer: try (listed ?? single).map { json throws(StoreKitFileFailure) in
                try offer(json, .introductory, at: place)
            },
            promotionalOffers: try offers("adHocOffers", of: json, .promotional, at: place),
            codeOffers: try offers("codeOffers", of: json, .code, at: place),
            winBackOffers: try offers("winbackOffers", of: json, .winBack, at: place))
        return product
    }

    private static func offers(
        _ key: String, of json: JSON, _ type: OfferType, at place: String
    ) throws(StoreKitFileFailure) -> [StoreKitOffer] {
        var offers: [StoreKitOffer] = []
        for each in json[key]?.array ?? [] { offers.append(try offer(each, type, at: place)) }
        return offers
    }

    private static func offer(
        _ json: JSON, _ type: OfferType, at place: String
    ) throws(StoreKitFileFailure) -> StoreKitOffer {
        let place = "an offer of \(place)"
        let discount: OfferDiscountType
        switch json["paymentMode"]?.string {
        case "free": discount = .freeTrial
        case "payAsYouGo": discount = .payAsYouGo
        case "payUpFront": discount = .payUpFront
        case let other:
            throw StoreKitFileFailure(
                "the payment mode \(other ?? "(none)") is not known", at: place)
        }
        let count = json["numberOfPeriods"]?.integer ?? 1
        guard (1...Int64(BillingPeriod.countMax)).contains(count) else {
            throw StoreKitFileFailure("numberOfPeriods is \(count)", at: place)
        }
        return StoreKitOffer(
            type: type, id: json["offerID"]?.string ?? json["referenceName"]?.string,
            discount: discount, period: try period("subscriptionPeriod", of: json, at: place),
            periodCount: Int(count),
            // Xcode leaves a former price standing when an offer is made free.
            price: discount == .freeTrial ? 0 : try price(of: json, at: place))
    }

    private static func text(
        _ key: String, of json: JSON, at place: String
    ) throws(StoreKitFileFailure) -> String {
        guard let text = json[key]?.string, !text.isEmpty else {
            throw StoreKitFileFailure("has no \(key)", at: place)
        }
        return text
    }

    private static func period(
        _ key: String, of json: JSON, at place: String
    ) throws(StoreKitFileFailure) -> BillingPeriod {
        let text = json[key]?.string ?? ""
        guard let period = BillingPeriod(text) else {
            throw StoreKitFileFailure(
                "\(key) is \"\(text)\": write it like P1W, P1M or P1Y", at: place)
        }
        return period
    }
}

extension StoreKitFile {
    /// Digits before the decimal point of a price.
    package static let wholeDigitsMax = 12

    private static func price(
        of json: JSON, at place: String
    ) throws(StoreKitFileFailure) -> Int64 {
        let text = json["displayPrice"]?.string ?? ""
        guard let price = milliunits(text) else {
            throw StoreKitFileFailure(
                "displayPrice is \"\(text)\": write a plain number such as 4.99", at: place)
        }
        return price
    }

    /// A price as thousandths of its unit; nil unless the whole text is digits with at most one
    /// decimal point and three decimals. No library's number reader stands here, for those take
    /// `0,99` for 0.
    package static func milliunits(_ text: String) -> Int64? {
        let parts = text.utf8.split(
            separator: UInt8(ascii: "."), maxSplits: 1, omittingEmptySubsequences: false)
        guard let whole = parts.first, (1...wholeDigitsMax).contains(whole.count) else {
            return nil
        }
        let decimals = parts.count == 2 ? Array(parts[1]) : [UInt8(ascii: "0")]
        guard (1...3).contains(decimals.count) else { return nil }
        let padded = decimals + [UInt8](repeating: UInt8(ascii: "0"), count: 3 - decimals.count)
        var value: Int64 = 0
        for digit in Array(whole) + padded {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) else { return nil }
            value = value * 10 + Int64(digit - UInt8(ascii: "0"))
        }
        return value
    }
}

extension StoreKitSettings {
    fileprivate init(_ json: JSON) {
        self.init(
            storefront: json["_storefront"]?.string,
            billingGracePeriodEnabled: json["_billingGracePeriodEnabled"]?.bool ?? false)
    }
}

// Parses a `.storekit` file. Products are collected from every section, as Xcode does.

extension StoreKitFile {
    /// The maximum number of products in one file. App Store Connect allows 10,000 for an app.
    package static let productsMax = 10_000

    /// Parses the text of a file. The caller limits its length.
    package init(parsing bytes: some Sequence<UInt8>) throws(StoreKitFileFailure) {
        let json: JSON
        do { json = try JSON(parsing: bytes) } catch {
            throw StoreKitFileFailure("is not valid JSON: \(error)", at: "the file")
        }
        try self.init(json: json)
    }

    /// Reads a file that is already parsed as JSON. Throws the first of the failures of
    /// ``read(_:)``.
    package init(json: JSON) throws(StoreKitFileFailure) {
        let (file, failures) = Self.read(json)
        if let first = failures.first { throw first }
        self = file
    }

    /// Returns everything in a file that can be read, and everything that makes the file unusable.
    /// So a person sees all problems at once.
    package static func read(_ json: JSON) -> (file: Self, failures: [StoreKitFileFailure]) {
        var reading = StoreKitFileReader()
        return (reading.file(json), reading.failures)
    }
}

/// Reads a file. Continues after a failure, and collects all failures.
private struct StoreKitFileReader {
    var failures: [StoreKitFileFailure] = []
    private static let monthsOfCommitment: Int64 = 12

    mutating func file(_ json: JSON) -> StoreKitFile {
        guard json.members != nil else {
            fail("is not a JSON object", at: "the file")
            return StoreKitFile()
        }
        var oneTime: [StoreKitProduct] = []
        for key in ["products", "nonRenewingSubscriptions"] {
            for product in json[key]?.array ?? [] {
                if let product = oneTimeProduct(product) { oneTime.append(product) }
            }
        }
        var groups: [StoreKitGroup] = []
        for group in json["subscriptionGroups"]?.array ?? [] {
            if let group = self.group(group) { groups.append(group) }
        }
        let file = StoreKitFile(
            oneTimeProducts: oneTime, groups: groups,
            settings: StoreKitSettings(json: json["settings"] ?? .null),
            offersKey: offersKey(json["subscriptionOffersKeyPair"]),
            majorVersion: json["version"]?["major"]?.integer ?? 1)
        check(file.products)
        return file
    }

    private mutating func check(_ products: [StoreKitProduct]) {
        if products.count > StoreKitFile.productsMax {
            fail("has more than \(StoreKitFile.productsMax) products", at: "the file")
        }
        var seen: Set<String> = []
        for product in products where !seen.insert(product.id).inserted {
            fail("occurs twice: remove one", at: "product \(product.id)")
        }
    }

    private func offersKey(_ json: JSON?) -> StoreKitOffersKey? {
        guard let id = json?["id"]?.string, let key = json?["privateKey"]?.string else {
            return nil
        }
        return StoreKitOffersKey(id: id, privateKey: key)
    }

    private mutating func oneTimeProduct(_ json: JSON) -> StoreKitProduct? {
        guard let id = text("productID", of: json, at: "a product") else { return nil }
        switch json["type"]?.string {
        case "Consumable": return soldOnce(json, id: id, type: .consumable)
        case "NonConsumable": return soldOnce(json, id: id, type: .nonConsumable)
        case "NonRenewingSubscription": return soldOnce(json, id: id, type: .nonRenewing)
        case "RecurringSubscription":
            fail(
                "a recurring subscription belongs in subscriptionGroups: move it there",
                at: "product \(id)")
        case let other:
            fail("the type \(other ?? "(none)") is not known", at: "product \(id)")
        }
        return nil
    }

    /// Reads a one-time product or a non-renewing subscription, with its codes.
    private mutating func soldOnce(
        _ json: JSON, id: String, type: ProductType
    ) -> StoreKitProduct? {
        var codes: [StoreKitOffer] = []
        for code in json["codeOffers"]?.array ?? [] {
            let place = "a code of product \(id)"
            guard let name = text("referenceName", of: code, at: place),
                let price = code["paymentMode"] == "free"
                    ? 0 : self.price("displayPrice", of: code, at: place)
            else { continue }
            var offer = StoreKitOffer.oneTimeCode(name, price: price)
            if let names = code["eligibility"]?.array { offer.customers = Self.customers(names) }
            codes.append(offer)
        }
        var product = product(json, id: id, type: type)
        product?.codeOffers = codes
        return product
    }

    private static func localizations(_ json: JSON) -> [StoreKitLocalization] {
        (json["localizations"]?.array ?? []).map { words in
            StoreKitLocalization(
                locale: words["locale"]?.string ?? "",
                displayName: words["displayName"]?.string ?? "",
                description: words["description"]?.string ?? "")
        }
    }

    private mutating func product(
        _ json: JSON, id: String, type: ProductType
    ) -> StoreKitProduct? {
        let localizations = Self.localizations(json)
        guard let price = price("displayPrice", of: json, at: "product \(id)") else { return nil }
        var product = StoreKitProduct(
            id: id, referenceName: json["referenceName"]?.string ?? id, type: type, price: price,
            isFamilyShareable: json["familyShareable"]?.bool ?? false,
            displayName: localizations.first?.displayName ?? "",
            description: localizations.first?.description ?? "")
        product.localizations = localizations
        return product
    }

    private mutating func group(_ json: JSON) -> StoreKitGroup? {
        guard let id = text("id", of: json, at: "a subscription group") else { return nil }
        var subscriptions: [StoreKitProduct] = []
        for subscription in json["subscriptions"]?.array ?? [] {
            if let product = self.subscription(subscription, groupID: id) {
                subscriptions.append(product)
            }
        }
        let name = json["name"]?.string ?? id
        var group = StoreKitGroup(id: id, name: name, subscriptions: subscriptions)
        group.localizations = Self.localizations(json)
        return group
    }

    private mutating func subscription(_ json: JSON, groupID: String) -> StoreKitProduct? {
        guard let id = text("productID", of: json, at: "a subscription of group \(groupID)") else {
            return nil
        }
        let place = "product \(id)"
        let terms = terms(json, groupID: groupID, at: place)
        guard var product = product(json, id: id, type: .autoRenewable), let terms else {
            return nil
        }
        product.subscription = terms
        return product
    }

    private mutating func terms(
        _ json: JSON, groupID: String, at place: String
    ) -> StoreKitSubscription? {
        guard let period = period("recurringSubscriptionPeriod", of: json, at: place) else {
            return nil
        }
        var terms = StoreKitSubscription(
            groupID: groupID, level: json["groupNumber"]?.integer ?? 1, period: period,
            promotionalOffers: offers("adHocOffers", of: json, .promotional, at: place),
            codeOffers: offers("codeOffers", of: json, .code, at: place),
            winBackOffers: offers("winbackOffers", of: json, .winBack, at: place))
        terms.introductoryOffers = introductoryOffers(of: json, at: place)
        terms.billingPlans = billingPlans(of: json, at: place)
        return terms
    }

    /// Reads the introductory offers. Version 5 repeats the single offer in the list; if the two
    /// differ, the list is the newer one.
    private mutating func introductoryOffers(of json: JSON, at place: String) -> [StoreKitOffer] {
        let listed = offers("introductoryOffers", of: json, .introductory, at: place)
        guard listed.isEmpty, let single = json["introductoryOffer"], single != .null else {
            return listed
        }
        return offer(single, .introductory, at: place).map { [$0] } ?? []
    }

    private mutating func billingPlans(of json: JSON, at place: String) -> [StoreKitBillingPlan] {
        var plans: [StoreKitBillingPlan] = []
        for plan in json["billingPlans"]?.array ?? [] {
            let place = "a billing plan of \(place)"
            guard let name = text("billingPlanType", of: plan, at: place),
                let price = self.price("displayPrice", of: plan, at: place)
            else { continue }
            let type = BillingPlanType(rawValue: name)
            var whole = type == .monthly ? Self.monthsOfCommitment * price : price
            if plan["commitmentDisplayPrice"] != nil {
                whole = self.price("commitmentDisplayPrice", of: plan, at: place) ?? whole
            }
            plans.append(
                StoreKitBillingPlan(
                    type: type, price: price, commitmentPrice: whole,
                    isEnabled: plan["isEnabled"]?.bool ?? true))
        }
        return plans
    }

    private mutating func offers(
        _ key: String, of json: JSON, _ type: OfferType, at place: String
    ) -> [StoreKitOffer] {
        var offers: [StoreKitOffer] = []
        for each in json[key]?.array ?? [] {
            if let offer = offer(each, type, at: place) { offers.append(offer) }
        }
        return offers
    }

    private mutating func offer(
        _ json: JSON, _ type: OfferType, at place: String
    ) -> StoreKitOffer? {
        let id = json["offerID"]?.string ?? json["referenceName"]?.string
        let place = id.map { "the offer \($0) of \(place)" } ?? "an offer of \(place)"
        guard let discount = discount(json, at: place),
            let period = period("subscriptionPeriod", of: json, at: place),
            let count = periodCount(json, at: place),
            // If an offer is made free, Xcode leaves its earlier price in the file.
            let price = discount == .freeTrial ? 0 : price("displayPrice", of: json, at: place)
        else { return nil }
        var offer = StoreKitOffer(
            type: type, id: type == .introductory ? nil : id, discount: discount, period: period,
            periodCount: count, price: price)
        offer.billingPlan = json["billingPlanType"]?.string.map(BillingPlanType.init(rawValue:))
        offer.isStackable = json["isStackable"]?.bool ?? false
        offer.isEligible = json["isEligible"]?.bool ?? true
        if let names = json["eligibility"]?.array { offer.customers = Self.customers(names) }
        return offer
    }

    private mutating func discount(_ json: JSON, at place: String) -> OfferDiscountType? {
        switch json["paymentMode"]?.string {
        case "free": return .freeTrial
        case "payAsYouGo": return .payAsYouGo
        case "payUpFront": return .payUpFront
        case let other:
            fail("the payment mode \(other ?? "(none)") is not known", at: place)
            return nil
        }
    }

    private mutating func periodCount(_ json: JSON, at place: String) -> Int? {
        let count = json["numberOfPeriods"]?.integer ?? 1
        guard (1...Int64(BillingPeriod.countMax)).contains(count) else {
            fail("numberOfPeriods is \(count), not 1 to \(BillingPeriod.countMax)", at: place)
            return nil
        }
        return Int(count)
    }

    private static func customers(_ names: [JSON]) -> StoreKitOffer.Customers {
        var customers: StoreKitOffer.Customers = []
        for name in names {
            switch name.string {
            case "new": customers.insert(.new)
            case "existing": customers.insert(.existing)
            case "expired": customers.insert(.expired)
            default: break
            }
        }
        return customers
    }

    private mutating func text(_ key: String, of json: JSON, at place: String) -> String? {
        guard let text = json[key]?.string, !text.isEmpty else {
            fail("has no \(key)", at: place)
            return nil
        }
        return text
    }

    private mutating func period(
        _ key: String, of json: JSON, at place: String
    ) -> BillingPeriod? {
        let text = json[key]?.string ?? ""
        guard let period = BillingPeriod(text) else {
            fail("\(key) is \"\(text)\": write it like P1W, P1M or P1Y", at: place)
            return nil
        }
        return period
    }

    private mutating func price(_ key: String, of json: JSON, at place: String) -> Int64? {
        let text = json[key]?.string ?? ""
        guard let price = StoreKitFile.milliunits(text) else {
            fail("\(key) is \"\(text)\": write a plain number such as 4.99", at: place)
            return nil
        }
        return price
    }

    private mutating func fail(_ what: String, at place: String) {
        failures.append(StoreKitFileFailure(what, at: place))
    }
}

extension StoreKitFile {
    /// The maximum number of digits before the decimal point of a price.
    private static let wholeDigitsMax = 12

    /// A price in thousandths of its unit. Returns nil unless the whole text consists of digits,
    /// with at most one decimal point and three decimals. Does not use a library's number parser,
    /// because such parsers read `0,99` as 0.
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

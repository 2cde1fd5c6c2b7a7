import AppStoreFormats

/// The part of a reset's body about the shop and purchases.
struct ShopBody: Sendable {
    static let fields: [SimulatorRoute.Field] = [
        .init("shop", "object", "A .storekit file as JSON, or \"example\" or \"full\"."),
        .init("families", "object", "{family: [account, …]}: joined with the first device."),
        .init("prices", "object", "{product: {storefront: \"8.99\"}}"),
        .init(
            "price_history", "object", "{product: [{from, price, storefront?}]}: prices by start."),
        .init("ask_to_buy", "boolean", "Whether purchases wait for a parent's approval."),
        .init("interrupts_purchases", "boolean", "Whether purchases wait until they are resolved."),
        .init("fails_purchases", "boolean", "Whether every purchase fails."),
        .init("renewals_fail", "boolean", "Whether the payment of every renewal fails."),
        .init("time_rate", "integer", "The sandbox's pace, by Xcode's number; 0 for the default."),
    ]

    /// Applies the fields that the body contains, the shop first.
    static func read(
        _ body: RequestBody, into settings: inout SimulatorSettings
    ) throws(SimulatorProblem) {
        if let json = body.value("shop") { settings.replaceShop(try shop(json)) }
        if let json = body.value("families") { settings.rules.families = try families(json) }
        try readPrices(body, into: &settings)
        try readSeats(body, into: &settings)
        var rules = settings.rules
        rules.asksToBuy = try body.bool("ask_to_buy") ?? rules.asksToBuy
        rules.interruptsPurchases =
            try body.bool("interrupts_purchases") ?? rules.interruptsPurchases
        rules.failsPurchases = try body.bool("fails_purchases") ?? rules.failsPurchases
        rules.renewalsFail = try body.bool("renewals_fail") ?? rules.renewalsFail
        settings.rules = rules
        guard let rate = try body.integer("time_rate") else { return }
        guard let pace = rate == 0 ? Pace.monthly(.fiveMinutes) : Pace(timeRate: rate) else {
            throw RequestBody.invalidField("time_rate", "0, 1 to 6, 10 to 15 or 1000 to 1005")
        }
        settings.sandboxPace = pace
    }

    /// Warnings about the shop in the body. Empty if the body contains no shop.
    static func warnings(_ body: RequestBody) -> [String] {
        guard let json = body.value("shop"), json.string == nil else { return [] }
        return ShopLint(json).findings.map(\.description)
    }

    private static func shop(_ json: JSON) throws(SimulatorProblem) -> StoreKitFile {
        do throws(StoreKitFileFailure) {
            switch json {
            case "example": return try ExampleShop.file()
            case "full": return try FullShop.file()
            default: return try StoreKitFile(json: json)
            }
        } catch {
            throw SimulatorProblem.badRequest(
                "The shop cannot be used: \(error).",
                remedy: "Send a .storekit file's content, or \"example\", or \"full\".")
        }
    }

    private static func families(_ json: JSON) throws(SimulatorProblem) -> [String: [String]] {
        guard let members = json.members, members.count <= ShopRules.familiesMax else {
            throw RequestBody.invalidField(
                "families", "an object of at most \(ShopRules.familiesMax) families")
        }
        var families: [String: [String]] = [:]
        var seen: Set<String> = []
        for member in members {
            let names = (member.value.array ?? []).compactMap(\.string)
            let isGood = (1...Family.membersMax).contains(names.count)
            guard isGood, names.count == member.value.array?.count else {
                throw RequestBody.invalidField(
                    "families.\(member.key)", "a list of 1 to \(Family.membersMax) accounts")
            }
            for name in names where !seen.insert(name).inserted {
                throw .badRequest(
                    "The account \(name) is in two families, or twice in one.",
                    remedy: "An account is in one family at a time.")
            }
            families[member.key] = names
        }
        return families
    }
}

// MARK: - Prices

extension ShopBody {
    private static func readPrices(
        _ body: RequestBody, into settings: inout SimulatorSettings
    ) throws(SimulatorProblem) {
        let now = body.value("prices")
        let history = body.value("price_history")
        guard now != nil || history != nil else { return }
        settings.rules.prices = PriceList()
        for product in try members(now, "prices") {
            try check(product.key, in: settings.shop)
            for price in try members(product.value, "prices.\(product.key)") {
                try settings.rules.prices.set(
                    milliunits(price.value, "prices.\(product.key)"), of: product.key,
                    in: country(price.key), from: AppStoreDate(milliseconds: .min))
            }
        }
        for product in try members(history, "price_history") {
            try check(product.key, in: settings.shop)
            let place = "price_history.\(product.key)"
            for json in product.value.array ?? [] {
                let step = try RequestBody(
                    json, known: ["from", "price", "storefront"], place: place)
                guard let from = try step.time("from"), let price = step.value("price") else {
                    throw RequestBody.invalidField(place, "a list of {from, price}")
                }
                try settings.rules.prices.set(
                    milliunits(price, place), of: product.key,
                    in: step.string("storefront").map(country), from: from)
            }
        }
    }

    private static func members(
        _ json: JSON?, _ field: String
    ) throws(SimulatorProblem) -> [JSON.Member] {
        guard let json else { return [] }
        guard let members = json.members else { throw RequestBody.invalidField(field, "an object") }
        return members
    }

    private static func check(_ id: String, in shop: StoreKitFile) throws(SimulatorProblem) {
        guard shop.products.contains(where: { $0.id == id }) else {
            throw .unknownProduct(id, known: shop.products.map(\.id))
        }
    }

    private static func country(_ name: String) throws(SimulatorProblem) -> String {
        guard Storefront.named(name) != nil else { throw .unknownStorefront(name) }
        return name
    }

    private static func milliunits(
        _ json: JSON, _ field: String
    ) throws(SimulatorProblem) -> Int64 {
        guard let text = json.string, let price = StoreKitFile.milliunits(text) else {
            throw RequestBody.invalidField(field, "a price as a text, such as \"8.99\"")
        }
        return price
    }
}

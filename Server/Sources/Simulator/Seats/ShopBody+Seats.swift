import AppStoreFormats

// Reads from a reset's body which products are sold in seats.

extension ShopBody {
    static let seatFields: [SimulatorRoute.Field] = [
        .init(
            "multi_seat", "object",
            "{product: true, or {tiers: [{from: 21, price: \"13.99\"}], storefronts: {DEU: […]}}}: "
                + "subscriptions that are sold in seats."),
        .init(
            "seat_invitations", "string",
            "Who invites the members of new groups: apple (default) or developer."),
    ]

    static func readSeats(
        _ body: RequestBody, into settings: inout SimulatorSettings
    ) throws(SimulatorProblem) {
        settings.rules.seatInvitations =
            try body.word("seat_invitations", SeatInvitations.self)
            ?? settings.rules.seatInvitations
        guard let json = body.value("multi_seat") else { return }
        guard let products = json.members else {
            throw RequestBody.invalidField("multi_seat", "an object of products")
        }
        var seats = SeatPrices()
        for product in products {
            guard let known = settings.shop.products.first(where: { $0.id == product.key }) else {
                throw .unknownProduct(product.key, known: settings.shop.products.map(\.id))
            }
            guard known.type == .autoRenewable else {
                throw .badRequest(
                    "The product \(known.id) cannot be sold in seats.",
                    remedy: "Only auto-renewable subscriptions have seats.")
            }
            if let tiers = try tiers(product.value, "multi_seat.\(product.key)") {
                seats.set(tiers, of: product.key)
            }
        }
        settings.rules.seats = seats
    }

    /// The tiers in a body. Returns nil if the body says that the product is not sold in seats.
    private static func tiers(
        _ json: JSON, _ place: String
    ) throws(SimulatorProblem) -> SeatPrices.Tiers? {
        if let isSold = json.bool { return isSold ? SeatPrices.Tiers() : nil }
        let body = try RequestBody(json, known: ["tiers", "storefronts"], place: place)
        var tiers = SeatPrices.Tiers(everywhere: try steps(body.value("tiers"), place))
        for own in body.value("storefronts")?.members ?? [] {
            guard Storefront.named(own.key) != nil else { throw .unknownStorefront(own.key) }
            tiers.byCountry[own.key] = try steps(own.value, "\(place).storefronts.\(own.key)")
        }
        return tiers
    }

    private static func steps(
        _ json: JSON?, _ place: String
    ) throws(SimulatorProblem) -> [SeatPrices.Step] {
        guard let json else { return [] }
        guard let list = json.array, list.count < SeatPrices.tiersMax else {
            throw RequestBody.invalidField(
                place,
                "a list of at most \(SeatPrices.tiersMax - 1) tiers: the product's price is the "
                    + "first of \(SeatPrices.tiersMax)")
        }
        var steps: [SeatPrices.Step] = []
        for json in list {
            let step = try RequestBody(json, known: ["from", "price"], place: place)
            let last = steps.last?.from ?? 1
            guard let from = try step.integer("from"), from > last, from <= SeatPrices.seatsMax
            else {
                throw RequestBody.invalidField(
                    place, "a list of {from, price} whose `from` rises, from 2 on")
            }
            guard let price = try step.milliunits("price"), price >= 0 else {
                throw RequestBody.invalidField(place, "a list of {from, price}, each with a price")
            }
            steps.append(SeatPrices.Step(from: from, price: price))
        }
        return steps
    }
}

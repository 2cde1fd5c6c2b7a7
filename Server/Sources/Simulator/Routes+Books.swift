import AppStoreFormats

// What the simulator knows: its products, its verdicts, and everything that was sent.

extension SimulatorRoute {
    static let bookRoutes = [
        get("/_sim/products", "The shop's products.", query: ["ids"]) { simulator, call in
            .json(try await simulator.productsJSON(call.query["ids"]))
        },
        get("/_sim/truth/{account}", "What an account may use now, by the simulator's own books.") {
            simulator, call in
            .json(try await simulator.truth(of: call.parameter("account")).json)
        },
        get("/_sim/notifications", "Every notification, with the attempts to deliver it.") {
            simulator, _ in
            let all = await simulator.notifications + simulator.v1Notifications
            return .json([
                "notifications": .array(all.map(\.json)),
                "strays": .array(await simulator.strays.map(\.json)),
            ])
        },
        get("/_sim/log", "What happened since the last reset.") { simulator, _ in
            .json(["entries": .array(await simulator.log)])
        },
    ]
}

extension AppStoreSimulator {
    /// All products, or those of a list with commas.
    fileprivate func productsJSON(_ ids: String?) throws(StoreProblem) -> JSON {
        var products = settings.shop.products
        if let ids {
            products = []
            for id in ids.split(separator: ",") { products.append(try world.product(String(id))) }
        }
        return ["products": .array(products.map(\.json))]
    }
}

extension SentNotification {
    fileprivate var json: JSON {
        let attempts = self.attempts.map { attempt -> JSON in
            let status = attempt.answer.status.map { JSON.Member("status", .integer(Int64($0))) }
            let error = attempt.answer.error.map { JSON.Member("error", .string($0)) }
            let at = JSON.Member("at", .string(RFC3339.text(attempt.at)))
            return .object([at] + [status, error].compactMap { $0 })
        }
        return [
            "uuid": .string(notice.uuid), "version": v1 == nil ? "2.0" : "1.0",
            "type": v1?.type.json ?? notice.type.json,
            "subtype": v1 == nil ? notice.subtype?.json ?? .null : .null,
            "account": notice.account.map { .string($0) } ?? .null,
            "row": notice.row.map { .integer(Int64($0.rawValue)) } ?? .null,
            "environment": .string(notice.environment.rawValue),
            "at": .string(RFC3339.text(notice.at)),
            "signed_payload": v1 == nil ? .string(signedPayload) : .null,
            "body": v1?.notification.json ?? .null,
            "faults": .array(faults.map { .string($0.rawValue) }),
            "attempts": .array(attempts),
        ]
    }
}

extension StoreKitProduct {
    fileprivate var json: JSON {
        let whole = price / 1000
        let cents = price % 1000
        let decimals = String(cents + 1000).dropFirst()
        let amount = "\(whole)." + (cents % 10 == 0 ? decimals.prefix(2) : decimals)
        return [
            "product_id": .string(id), "type": type.json, "price": .string(amount),
            "display_name": .string(displayName), "description": .string(description),
            "family_shareable": .bool(isFamilyShareable),
            "subscription": subscription?.json ?? .null,
        ]
    }
}

extension StoreKitSubscription {
    fileprivate var json: JSON {
        [
            "group_id": .string(groupID), "level": .integer(level),
            "period": .string(period.description),
            "introductory_offer": introductoryOffer?.json ?? .null,
            "promotional_offers": .array(promotionalOffers.map(\.json)),
            "code_offers": .array(codeOffers.map(\.json)),
            "win_back_offers": .array(winBackOffers.map(\.json)),
        ]
    }
}

extension StoreKitOffer {
    fileprivate var json: JSON {
        [
            "id": id.map { .string($0) } ?? .null, "discount": discount.json,
            "period": .string(period.description), "period_count": .integer(Int64(periodCount)),
            "price_milliunits": .integer(price),
        ]
    }
}

import AppStoreFormats

/// CustomerInfo of API version 1: `GET /v1/subscribers/{app_user_id}` with a secret key.
struct V1Answers {
    let opinion: Opinion
    let customer: KnownCustomer

    private static let managementURL: JSON = "https://apps.apple.com/account/subscriptions"

    var info: JSON {
        let now = opinion.now
        let hasOpen = opinion.runs.contains { $0.givesAccess(at: now) }
        return [
            "request_date": Self.time(now), "request_date_ms": now.json,
            "subscriber": [
                "entitlements": .object(opinion.rights.map(entitlement)),
                "first_seen": Self.time(customer.firstSeen),
                "last_seen": Self.time(customer.lastSeen),
                "management_url": hasOpen ? Self.managementURL : .null,
                "non_subscriptions": .object(nonSubscriptions),
                "original_app_user_id": .string(customer.originalID),
                "original_application_version": .null, "original_purchase_date": .null,
                "other_purchases": .object([]), "subscriber_attributes": .object([]),
                "subscriptions": .object(subscriptions),
            ],
        ]
    }

    private func entitlement(_ right: Opinion.Right) -> JSON.Member {
        let grace = right.support.graceUntil.flatMap { $0 > opinion.now ? $0 : nil }
        return .init(
            right.lookupKey,
            [
                "expires_date": Self.time(right.support.ends),
                "grace_period_expires_date": Self.time(grace),
                "product_identifier": .string(right.support.product),
                "purchase_date": Self.time(right.support.begins),
            ])
    }

    // MARK: - Subscriptions

    /// One entry for each product that was ever bought: the latest period of the product.
    private var subscriptions: [JSON.Member] {
        var byProduct: [String: [(PurchaseLine, Spell)]] = [:]
        for line in opinion.subscriptions {
            for spell in line.spells {
                byProduct[spell.transaction.productID, default: []].append((line, spell))
            }
        }
        let bought = byProduct.sorted { $0.key < $1.key }.compactMap { product, all in
            shown(of: all).map { JSON.Member(product, subscription($0.0, $0.1)) }
        }
        return bought + opinion.grants.map { JSON.Member($0.product, promotional($0)) }
    }

    /// The period that is shown. If there is a present period, this is the last of the periods that
    /// continue it; otherwise it is the last of the periods that have begun.
    private func shown(of all: [(PurchaseLine, Spell)]) -> (PurchaseLine, Spell)? {
        let real = all.filter { !$0.1.isEmpty }
        let present = real.filter { $0.1.covers(opinion.now) }.max { Self.isBefore($0.1, $1.1) }
        if var last = present {
            while let next = real.first(where: {
                $0.0.originalID == last.0.originalID && $0.1.begins == last.1.ends
            }) {
                last = next
            }
            return last
        }
        let begun = all.filter { $0.1.begins <= opinion.now }
        return begun.max { Self.isBefore($0.1, $1.1) } ?? all.first
    }

    private static func isBefore(_ one: Spell, _ other: Spell) -> Bool {
        guard let first = one.ends else { return false }
        guard let second = other.ends else { return true }
        return (first, one.begins) < (second, other.begins)
    }

    private func subscription(_ line: PurchaseLine, _ spell: Spell) -> JSON {
        let transaction = spell.transaction
        let isLast = line.latest?.transaction.id == transaction.id
        let grace = spell.graceUntil.flatMap { $0 > opinion.now ? $0 : nil }
        return [
            "auto_resume_date": .null,
            "billing_issues_detected_at": Self.time(isLast ? line.billingIssue : nil),
            "display_name": .null, "expires_date": Self.time(spell.ends),
            "grace_period_expires_date": Self.time(grace),
            "is_sandbox": .bool(transaction.isSandbox), "management_url": Self.managementURL,
            "original_purchase_date": Self.time(transaction.originallyPurchased),
            "ownership_type": .string(transaction.isFamilyShared ? "FAMILY_SHARED" : "PURCHASED"),
            "period_type": .string(Self.periodType(transaction)),
            "price": Self.price(transaction), "purchase_date": Self.time(transaction.purchased),
            "refunded_at": Self.time(transaction.isRefund ? transaction.revoked : nil),
            "store": "app_store", "store_transaction_id": .string(transaction.id),
            "unsubscribe_detected_at": Self.time(isLast ? line.unsubscribed : nil),
        ]
    }

    private func promotional(_ grant: PromotionalGrant) -> JSON {
        [
            "auto_resume_date": .null, "billing_issues_detected_at": .null, "display_name": .null,
            "expires_date": Self.time(grant.ends), "grace_period_expires_date": .null,
            "is_sandbox": false, "management_url": .null,
            "original_purchase_date": Self.time(grant.begins), "ownership_type": "PURCHASED",
            "period_type": "normal", "price": .null, "purchase_date": Self.time(grant.begins),
            "refunded_at": .null, "store": "promotional",
            "store_transaction_id": .string(grant.id), "unsubscribe_detected_at": .null,
        ]
    }

    /// Free offers are trials, all other offers are introductory periods. RevenueCat documents this
    /// for introductory offers only.
    private static func periodType(_ transaction: AppleTransaction) -> String {
        switch transaction.discount {
        case nil: "normal"
        case .freeTrial?: "trial"
        default: "intro"
        }
    }

    // MARK: - One-time purchases

    /// The purchases of each product, oldest first, without refunded ones.
    private var nonSubscriptions: [JSON.Member] {
        let spells = opinion.oneTimePurchases.flatMap(\.spells)
            .filter { $0.transaction.revoked == nil }
            .sorted { ($0.begins, $0.transaction.id) < ($1.begins, $1.transaction.id) }
        let byProduct = Dictionary(grouping: spells) { $0.transaction.productID }
        return byProduct.sorted { $0.key < $1.key }.map { product, all in
            .init(product, .array(all.map { Self.oneTime($0.transaction) }))
        }
    }

    private static func oneTime(_ transaction: AppleTransaction) -> JSON {
        [
            "id": .string(StableHash.hex(transaction.id)), "display_name": .null,
            "is_sandbox": .bool(transaction.isSandbox),
            "original_purchase_date": time(transaction.originallyPurchased),
            "price": price(transaction), "purchase_date": time(transaction.purchased),
            "store": "app_store", "store_transaction_id": .string(transaction.id),
        ]
    }

    private static func price(_ transaction: AppleTransaction) -> JSON {
        guard let price = transaction.price, let currency = transaction.currency else {
            return .null
        }
        let amount = "\(price / 1000)." + String("\(1000 + abs(price % 1000))".dropFirst())
        return ["amount": .decimal(amount), "currency": .string(currency)]
    }

    // MARK: - Times

    private static func time(_ moment: AppStoreDate?) -> JSON {
        moment.map { .string(text(of: $0)) } ?? .null
    }

    /// A moment such as `2026-03-01T12:00:00Z`. Fractions of a second are cut off.
    static func text(of moment: AppStoreDate) -> String {
        let seconds = moment.milliseconds.flooredDivision(by: 1000)
        let day = seconds.flooredDivision(by: 86_400)
        let date = CivilDate(daysSince1970: day)
        let rest = seconds - day * 86_400
        func two(_ number: Int64) -> String { String("\(100 + number)".dropFirst()) }
        let year = String("\(10_000 + date.year)".dropFirst())
        return "\(year)-\(two(Int64(date.month)))-\(two(Int64(date.day)))"
            + "T\(two(rest / 3600)):\(two(rest / 60 % 60)):\(two(rest % 60))Z"
    }
}

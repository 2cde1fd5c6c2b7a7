extension Product {
    public struct SubscriptionInfo: Equatable, Hashable, Sendable {
        public let introductoryOffer: SubscriptionOffer?
        public let promotionalOffers: [SubscriptionOffer]
        public let winBackOffers: [SubscriptionOffer]
        public let subscriptionGroupID: String
        public let subscriptionPeriod: SubscriptionPeriod
        /// The terms of each billing plan of the product. If the product is sold in seats, the
        /// terms for several seats follow.
        public let pricingTerms: [PricingTerms]
        /// The level within the group. 1 is the highest level. 0 if the store did not send the
        /// level.
        public let groupLevel: Int
        public let groupDisplayName: String

        /// Reads the subscription of a product. Returns nil if the product is not an auto-renewable
        /// subscription.
        init?(
            _ attributes: ProductPayload.Attributes, _ buy: ProductPayload.Offer,
            seatTiers: [SeatTierPayload]
        ) {
            guard let group = attributes.subscriptionFamilyId,
                let period = buy.recurringSubscriptionPeriod.flatMap({
                    SubscriptionPeriod(iso8601: $0)
                })
            else { return nil }
            let offers = (buy.discounts ?? []).compactMap { SubscriptionOffer($0) }
            let general = offers.filter { $0.billingPlan != .monthly }
            introductoryOffer = general.first { $0.type == .introductory }
            promotionalOffers = general.filter { $0.type == .promotional }
            winBackOffers = general.filter { $0.type == .winBack }
            subscriptionGroupID = group
            subscriptionPeriod = period
            pricingTerms = PricingTerms.all(
                of: buy, period: period, offers: offers, seatTiers: seatTiers)
            groupLevel = attributes.subscriptionFamilyRank ?? 0
            groupDisplayName = attributes.subscriptionFamilyName ?? ""
        }

        public var isEligibleForIntroOffer: Bool {
            get async { await Self.isEligibleForIntroOffer(for: subscriptionGroupID) }
        }

        /// Whether the customer is eligible for an introductory offer of this group. If the store
        /// cannot be reached, the device decides by its own transactions.
        public static func isEligibleForIntroOffer(for groupID: String) async -> Bool {
            await IntroductoryEligibility(groupID: groupID).isEligible()
        }

        public var status: [Status] {
            get async throws { try await Self.status(for: subscriptionGroupID) }
        }

        /// The statuses of the group. Empty if the customer never subscribed. With Family Sharing,
        /// there may be several.
        public static func status(for groupID: String) async throws -> [Status] {
            try await Status.read(group: groupID)
        }

        /// The status of the subscription to which a transaction belongs. Nil if there is no such
        /// subscription.
        public static func status(transactionID: UInt64) async throws -> SubscriptionStatus? {
            let statuses = try await Status.read(group: nil)
            let original = await Transaction.read("transactions").map(\.unsafePayloadValue)
                .first { $0.id == transactionID }?.originalID
            return statuses.first {
                $0.transaction.unsafePayloadValue.originalID == original ?? transactionID
            }
        }
    }
}

/// Whether a customer is eligible for an introductory offer.
struct IntroductoryEligibility: Sendable {
    let groupID: String
    var client = StoreClient(.current)

    private struct Answer: Decodable {
        struct Offer: Decodable { let eligible: Bool? }
        struct Terms: Decodable {
            let groupId: String
            let introductoryOffers: [Offer]
        }
        struct Listed: Decodable { let subscription: Terms? }
        let products: [Listed]
    }

    func isEligible() async -> Bool {
        let body = try? await client.readStore("products", ["device": client.device.id])
        let answer = body.flatMap { try? JSONDecoder.simulator.decode(Answer.self, from: $0) }
        let offers = (answer?.products ?? []).compactMap(\.subscription)
            .filter { $0.groupId == groupID }.flatMap(\.introductoryOffers)
        if let verdict = offers.compactMap(\.eligible).first { return verdict }
        let transactions = await Transaction.read("transactions", by: client)
        return transactions.allSatisfy { !hasIntroductoryOffer($0.unsafePayloadValue) }
    }

    // This is a separate function, because the optimiser of Swift 6.3.1 fails if this code is part
    // of the function above.
    @inline(never)
    private func hasIntroductoryOffer(_ transaction: Transaction) -> Bool {
        guard transaction.subscriptionGroupID == groupID, let offer = transaction.offer else {
            return false
        }
        return offer.type == .introductory
    }
}

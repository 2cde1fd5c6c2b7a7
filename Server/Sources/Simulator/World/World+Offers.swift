import AppStoreFormats

/// The offers that one purchase uses.
struct ChosenOffers {
    /// The offer that applies at once, or at the next billing of an active subscription.
    var first: StoreKitOffer?
    /// The offer that applies after ``first``: a code that follows an introductory offer.
    var second: StoreKitOffer?
    /// The nonce of the signature that was verified.
    var nonce: String?
}

// Which offers a customer may use.

extension World {
    /// Validates the offers of an order: the offer that the order names, or the introductory offer
    /// if the customer is eligible.
    func offers(
        for product: StoreKitProduct, _ order: PurchaseOrder, _ device: Device,
        chain: Subscription?, at now: AppStoreDate
    ) throws(SimulatorProblem) -> ChosenOffers {
        guard let terms = product.subscription else { return ChosenOffers() }
        let introductory = introductoryOffer(of: terms, order, device, chain: chain, at: now)
        guard let id = order.offerID else { return ChosenOffers(first: introductory) }
        if id == PurchaseOrder.noOffer { return ChosenOffers() }
        guard let offer = terms.namedOffers.first(where: { $0.id == id }) else {
            throw .unknownOffer(id, of: product, known: terms.namedOffers.compactMap(\.id))
        }
        if let reason = refusal(of: offer, product, to: device.account) {
            throw SimulatorProblem(
                "offer_not_eligible",
                "\(device.account.name) is not eligible for the offer \(id): \(reason)",
                remedy: "Omit `offer`, or choose another one.")
        }
        let nonce = try checkSignature(of: offer, product, order, device, at: now)
        if offer.isStackable, let introductory {
            return ChosenOffers(first: introductory, second: offer, nonce: nonce)
        }
        return ChosenOffers(first: offer, nonce: nonce)
    }

    /// Why a customer may not use an offer. Nil if the customer may use it.
    func refusal(
        of offer: StoreKitOffer, _ product: StoreKitProduct, to account: Account.Key
    ) -> String? {
        guard let terms = product.subscription else { return "the product is not a subscription." }
        let chain = accounts[account]?.chains[terms.groupID].flatMap { subscriptions[$0] }
        switch offer.type {
        case .introductory: return introductoryRefusal(in: terms.groupID, to: account)
        case .promotional:
            return chain == nil ? "it is for customers who have or had a subscription." : nil
        case .winBack:
            if chain.map(\.isOver) != true { return "it is for those whose subscription ended." }
            return offer.isEligible ? nil : "isEligible is false in the shop's file."
        default:
            return codeRefusal(of: offer, product, to: account, chain)
        }
    }

    /// The code that an order of a one-time product names. Nil if the order names none.
    func code(
        for product: StoreKitProduct, _ order: PurchaseOrder, _ device: Device
    ) throws(SimulatorProblem) -> StoreKitOffer? {
        guard let id = order.offerID, id != PurchaseOrder.noOffer else { return nil }
        let codes = product.codeOffers
        guard let code = codes.first(where: { $0.id == id }) else {
            throw .unknownOffer(id, of: product, known: codes.compactMap(\.id))
        }
        let account = accounts[device.account]
        guard account?.codesRedeemed.contains("\(product.id)/\(id)") != true else {
            throw SimulatorProblem(
                "offer_not_eligible",
                "\(device.account.name) has already redeemed the code \(id).",
                remedy: "Omit `offer`, or choose another one.")
        }
        return code
    }

    /// Whether an account is eligible for an introductory offer, by subscription group.
    func introductoryEligibility(of account: Account.Key) -> [String: Bool] {
        var eligibility: [String: Bool] = [:]
        for group in settings.shop.groups {
            eligibility[group.id] = introductoryRefusal(in: group.id, to: account) == nil
        }
        return eligibility
    }

    private func introductoryRefusal(in group: String, to account: Account.Key) -> String? {
        let chain = accounts[account]?.chains[group].flatMap { subscriptions[$0] }
        if chain.map({ !$0.isOver }) == true { return "they are subscribed in the group." }
        let used = accounts[account]?.introductoryOffersUsed.contains(group)
        // Returning customers are eligible, too, if they never had such an offer in the group.
        return used == true ? "they had an introductory offer in the group." : nil
    }

    private func codeRefusal(
        of offer: StoreKitOffer, _ product: StoreKitProduct, to account: Account.Key,
        _ chain: Subscription?
    ) -> String? {
        let kind: StoreKitOffer.Customers
        switch chain?.isOver {
        case nil: kind = .new
        case false?: kind = .existing
        case true?: kind = .expired
        }
        guard offer.customers.contains(kind) else {
            return "its eligibility excludes customers who are \(kind.word)."
        }
        let isUsed = accounts[account]?.codesRedeemed.contains("\(product.id)/\(offer.id ?? "")")
        return isUsed == true ? "they have already redeemed it." : nil
    }

    private func introductoryOffer(
        of terms: StoreKitSubscription, _ order: PurchaseOrder, _ device: Device,
        chain: Subscription?, at now: AppStoreDate
    ) -> StoreKitOffer? {
        guard chain?.isOver ?? true, let offer = terms.introductoryOffer(of: order.billingPlan)
        else { return nil }
        if let signed = order.introductoryEligibility {
            // A JWS that is not valid is not an error: the customer does not get the offer.
            let word = offerSignature(order, at: now)?.introductoryEligibility(signed)
            return word == true ? offer : nil
        }
        let used = accounts[device.account]?.introductoryOffersUsed.contains(terms.groupID)
        return used == true ? nil : offer
    }

    private func checkSignature(
        of offer: StoreKitOffer, _ product: StoreKitProduct, _ order: PurchaseOrder,
        _ device: Device, at now: AppStoreDate
    ) throws(SimulatorProblem) -> String? {
        guard offer.type == .promotional, let proof = order.offerProof,
            let signature = offerSignature(order, at: now)
        else { return nil }
        let token = order.appAccountToken ?? device.appAccountToken
        let nonce = try signature.nonce(of: proof, offerID: offer.id ?? "", appAccountToken: token)
        guard !usedNonces.contains(nonce) else {
            throw .invalidOfferSignature(
                "its nonce \(nonce) was used before", remedy: "Sign each purchase separately.")
        }
        return nonce
    }

    /// The verifier of offer signatures. Nil if the shop has no key to verify them with.
    private func offerSignature(_ order: PurchaseOrder, at now: AppStoreDate) -> OfferSignature? {
        offersKey.map {
            OfferSignature(
                key: $0, bundleID: settings.bundleID, productID: order.productID, now: now)
        }
    }

    func check(
        _ plan: BillingPlanType, of product: StoreKitProduct
    ) throws(SimulatorProblem) {
        guard plan == .billedUpfront || product.subscription?.monthlyPlan != nil else {
            throw SimulatorProblem(
                "unknown_billing_plan", status: 404,
                "The product \(product.id) has no billing plan \(plan).",
                remedy: "Omit billing_plan, or enable the plan in the shop's file.")
        }
    }
}

// MARK: - Redeeming without the app

extension World {
    /// Redeems a code in the App Store for the named product. The default is the product that the
    /// subscription will renew as.
    mutating func redeemCode(
        _ id: String, offerID: String, productID: String?, at now: AppStoreDate
    ) throws(SimulatorProblem) -> [NotificationDraft] {
        try redeemOffer(offerID, .code, for: productID, by: subscription(id), at: now)
    }

    /// Accepts a win-back offer in the App Store: the named one, or the first available.
    mutating func winBack(
        _ id: String, offerID: String?, productID: String?, at now: AppStoreDate
    ) throws(SimulatorProblem) -> [NotificationDraft] {
        let chain = try subscription(id)
        let product = try product(productID ?? chain.nextProduct.id)
        let first = product.subscription?.winBackOffers.first { $0.isEligible }?.id
        guard let offer = offerID ?? first else {
            throw .unknownOffer("to win back", of: product, known: [])
        }
        return try redeemOffer(offer, .winBack, for: product.id, by: chain, at: now)
    }

    private mutating func redeemOffer(
        _ offerID: String, _ type: OfferType, for productID: String?, by chain: Subscription,
        at now: AppStoreDate
    ) throws(SimulatorProblem) -> [NotificationDraft] {
        let product = try product(productID ?? chain.nextProduct.id)
        let known = product.subscription?.namedOffers.filter { $0.type == type } ?? []
        guard known.contains(where: { $0.id == offerID }) else {
            throw .unknownOffer(offerID, of: product, known: known.compactMap(\.id))
        }
        let latest = chain.latest
        let elsewhere = Device(
            id: "", account: chain.account, storefront: latest.storefront,
            appAccountToken: latest.appAccountToken, pace: chain.pace)
        let order = PurchaseOrder(product.id, offerID: offerID)
        return try sell(order, to: elsewhere, at: now).notices
    }
}

extension StoreKitSubscription {
    /// The offers that an order can name.
    var namedOffers: [StoreKitOffer] { promotionalOffers + winBackOffers + codeOffers }
}

extension StoreKitOffer.Customers {
    fileprivate var word: String {
        switch self {
        case .new: "new"
        case .existing: "existing"
        default: "expired"
        }
    }
}

extension Subscription {
    /// The offer of the next period. Nil if the next product is another one, because an offer does
    /// not carry over.
    var nextOffer: RunningOffer? {
        let upcoming = boxedNextProduct.value.id
        if let runningOffer, runningOffer.periodsLeft > 0,
            upcoming == latest.boxedProduct.value.id
        {
            return runningOffer
        }
        guard let pending = pendingOffer?.value, pending.productID == upcoming else { return nil }
        let isRepeated = pending.offer.discount == .payAsYouGo
        return RunningOffer(
            offer: pending.offer, periodsLeft: isRepeated ? pending.offer.periodCount : 1)
    }

    /// Returns the offer of the next period, and counts that period as used.
    mutating func consumeNextOffer() -> RunningOffer? {
        var next = nextOffer
        if next == nil || next?.offer == pendingOffer?.value.offer { pendingOffer = nil }
        next?.periodsLeft -= 1
        return next
    }

    /// Removes and returns the commitment that begins with the next period. Returns nil if none is
    /// planned, if an offer comes first, or if the next product is another one.
    mutating func consumePlannedCommitment() -> Commitment.Terms? {
        guard plannedCommitment != nil, nextOffer == nil else { return nil }
        defer { plannedCommitment = nil }
        return boxedNextProduct.value.id == latest.product.id ? plannedCommitment : nil
    }
}

extension SimulatorProblem {
    static func unknownOffer(_ id: String, of product: StoreKitProduct, known: [String]) -> Self {
        Self(
            "unknown_offer", status: 404, "The product \(product.id) has no offer \(id).",
            remedy: known.isEmpty
                ? "It has no such offers." : "Its offers: \(known.joined(separator: ", ")).")
    }

    static func invalidOfferSignature(_ why: String, remedy: String) -> Self {
        Self(
            "invalid_offer_signature", "The offer's signature is not valid: \(why).",
            remedy: remedy)
    }
}

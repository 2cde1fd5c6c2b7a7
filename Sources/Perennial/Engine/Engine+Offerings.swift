internal import Foundation
internal import PerennialContract

// MARK: - What is for sale

extension Engine {
    /// Reads the newest offerings that this device has, and the products of the last launch.
    func readOfferings() {
        let cached = files.catalogue.read()
        for product in cached?.products ?? [] { products[product.id] = StoreProduct(product) }
        guard state.readOfferings(bundled: configuration.bundledOfferings, cached) else { return }
        signedOfferings = cached?.offerings
        offeringsETag = cached?.version
    }

    /// Fetches the offerings. Offerings that no trusted key has signed are not used, unless the app
    /// has no tokens and therefore no signatures.
    ///
    /// Publishes the effect at once, because without offerings the purchases that the store lists
    /// give no access.
    func fetchOfferings(within timeout: TimeInterval, isAwaited: Bool = true) async {
        let (before, wereCurrent) = (state.offerings, state.areOfferingsCurrent)
        await loadOfferings(within: timeout, isAwaited: isAwaited)
        guard state.offerings != before || state.areOfferingsCurrent != wereCurrent else {
            return
        }
        await publish()
    }

    private func loadOfferings(within timeout: TimeInterval, isAwaited: Bool) async {
        session.satisfy(.offerings)
        guard !state.isXcode else { return }
        var request = ServerRequest.get(
            Paths.offerings, query: environmentQuery, within: timeout)
        if let offeringsETag, state.offerings != nil {
            request.headers["If-None-Match"] = offeringsETag
        }
        let environment = state.contractEnvironment
        let answer: ServerAnswer
        do { answer = try await send(request, isAwaited: isAwaited) } catch {
            // A permanent failure is tried again when the app comes to the foreground.
            if error.failure.isTemporary { session.require(.offerings) }
            return
        }
        // If the environment has changed during the request, the offerings are fetched once more.
        guard environment == state.contractEnvironment else { return }
        if answer.status == 304 {
            state.areOfferingsCurrent = state.offerings != nil
            return
        }
        guard let offerings = Offerings(json: answer.body), offerings.environment == environment
        else { return }
        guard let text = offerings.jws else {
            // An app without tokens has no signatures. But a device that has keys does not accept
            // unsigned offerings.
            guard state.device.keys.keys.isEmpty else { return }
            (state.offerings, state.areOfferingsCurrent) = (offerings, true)
            return
        }
        if state.verify(offerings: text) == nil { await fetchKeys() }
        guard let signed = state.verify(offerings: text) else {
            log.error("server", "The offerings are signed by a key that is not trusted.")
            return
        }
        state.device.app = signed.app
        (state.offerings, state.areOfferingsCurrent) = (signed.offerings, true)
        signedOfferings = text
        offeringsETag = answer.etag
        saveCatalogue()
    }

    private func saveCatalogue() {
        var catalogue = CatalogueFile.Catalogue()
        catalogue.offerings = signedOfferings
        catalogue.version = offeringsETag
        catalogue.products = products.values.sorted { $0.id < $1.id }
            .map(CatalogueFile.Product.init)
        do { try files.catalogue.write(catalogue) } catch {
            log.info("store", "The catalogue could not be saved: \(error).")
        }
    }

    func offering(
        _ placement: Perennial.PlacementID?
    ) async throws(Perennial.Failure) -> Perennial.Offering {
        await open()
        if state.offerings == nil { await fetchOfferings(within: configuration.patience) }
        guard let offerings = state.offerings else {
            throw Perennial.Failure(
                .serverUnreachable,
                remedy: "The offerings are not known yet. Put a file of `perennial config export` "
                    + "into the app, for a first launch without a network.",
                isTemporary: true)
        }
        let place =
            placement.map { id in offerings.placements.first { $0.placementID == id.rawValue } }
            ?? offerings.placements.first
        if let placement, place == nil {
            throw Perennial.Failure(
                .placementUnknown,
                remedy: "`perennial.yaml` has no placement \(placement.rawValue).")
        }
        let ids = place?.products ?? offerings.products.map(\.productID)
        let (found, missing) = try await products(ids.map(Perennial.ProductID.init(rawValue:)))
        return Perennial.Offering(
            id: place?.placementID ?? "", products: found, missing: missing,
            metadata: (place?.metadata ?? [:]).mapValues(Perennial.MetadataValue.init))
    }

    /// The products with these ids, in this order, and the ids that the store does not know.
    func products(
        _ ids: [Perennial.ProductID]
    ) async throws(Perennial.Failure) -> (
        found: [Perennial.Product], missing: [Perennial.MissingProduct]
    ) {
        await open()
        let unknown = ids.map(\.rawValue).filter { products[$0]?.storeProduct == nil }
        if !unknown.isEmpty {
            let interval = SignpostInterval("products")
            defer { interval.close() }
            do {
                for product in try await store.products(unknown) { products[product.id] = product }
                saveCatalogue()
            } catch {
                guard ids.contains(where: { products[$0.rawValue] != nil }) else {
                    throw Perennial.Failure(error)
                }
            }
        }
        let found = ids.compactMap { products[$0.rawValue].map(makeProduct) }
        let missing = ids.filter { products[$0.rawValue] == nil }.map { id in
            Perennial.MissingProduct(
                id: id,
                reason: "The store does not know it. Most often the id is misspelt, the product "
                    + "lacks something in App Store Connect, or the agreements are not signed.")
        }
        return (found, missing)
    }

    private func makeProduct(_ product: StoreProduct) -> Perennial.Product {
        let meaning = state.offerings?.products.first { $0.productID == product.id }
        return Perennial.Product(
            id: .init(rawValue: product.id), kind: product.kind, name: product.name,
            details: product.details, price: product.price, displayPrice: product.displayPrice,
            currencyCode: product.currencyCode,
            period: product.period ?? meaning?.term.map(Perennial.Period.init),
            plans: product.plans, group: product.group, offers: product.offers,
            entitlements: Set(
                (meaning?.entitlements ?? []).map(Perennial.EntitlementID.init(rawValue:))),
            credits: Dictionary(
                uniqueKeysWithValues: (meaning?.credits ?? [:]).map {
                    (Perennial.WalletID(rawValue: $0.key), Int($0.value))
                }),
            isFamilyShareable: product.isFamilyShareable, seatTiers: product.seatTiers,
            storeProduct: product.storeProduct)
    }
}

// MARK: - Offers

extension Engine {
    /// The offers of a product or of one of its plans. Offers for which the customer is eligible
    /// come first.
    func offers(
        for product: Perennial.ProductID, of plan: Perennial.Plan?
    ) async throws(Perennial.Failure) -> [Perennial.Offer] {
        guard let known = try await products([product]).found.first else {
            throw Perennial.Failure(
                .productUnknown, remedy: "The App Store does not know \(product.rawValue).")
        }
        return await eligibleFirst(
            known.offers(of: plan), of: known, by: await offersByServer())
    }

    /// An offering that says for which of its offers the customer is eligible. If the server cannot
    /// be asked, the customer counts as eligible for no offer, so that no trial is promised.
    func offeringWithEligibility(
        _ placement: Perennial.PlacementID?
    ) async throws(Perennial.Failure) -> Perennial.Offering {
        var offering = try await offering(placement)
        guard offering.products.contains(where: \.hasOffers) else { return offering }
        let answered = await offersByServer()
        for index in offering.products.indices {
            var product = offering.products[index]
            product.offers = await eligibleFirst(product.offers, of: product, by: answered)
            for plan in product.plans.indices {
                product.plans[plan].offers = await eligibleFirst(
                    product.plans[plan].offers, of: product, by: answered)
            }
            offering.products[index] = product
        }
        return offering
    }

    private func eligibleFirst(
        _ offers: [Perennial.Offer], of product: Perennial.Product, by answered: [OfferList.Offer]?
    ) async -> [Perennial.Offer] {
        var checked: [Perennial.Offer] = []
        for offer in offers {
            checked.append(await withEligibility(offer, of: product, by: answered))
        }
        return checked.filter(\.isEligible) + checked.filter { !$0.isEligible }
    }

    /// The customer's offers as the server reports them. Nil if the server could not be asked.
    private func offersByServer() async -> [OfferList.Offer]? {
        guard mayPost, let id = state.device.customerID else { return nil }
        let request = ServerRequest.get(
            "\(Paths.customer(id))/offers", query: environmentQuery, for: id,
            within: configuration.patience)
        guard let answer = try? await send(request),
            let list = try? answer.decode(OfferList.self)
        else { return nil }
        return list.items
    }

    /// An introductory offer requires three things: the store allows it, the server allows it, and
    /// no subscription of the group is active.
    private func withEligibility(
        _ offer: Perennial.Offer, of product: Perennial.Product, by answered: [OfferList.Offer]?
    ) async -> Perennial.Offer {
        var offer = offer
        guard let answered else {
            offer.reason = .serverNotAsked
            return offer
        }
        let own = answered.first {
            $0.productID == product.id.rawValue && $0.kind == offer.kind.rawValue
                && $0.offerID == offer.id
        }
        offer.isEligible = own?.eligible ?? false
        offer.reason = own.map { .init(rawValue: $0.why) } ?? .unknown
        guard offer.kind == .introductory, offer.isEligible, let group = product.group else {
            return offer
        }
        if isSubscribed(in: group) {
            offer.isEligible = false
            offer.reason = .subscribedInGroup
        } else if await !store.isEligibleForIntroductoryOffer(group: group) {
            offer.isEligible = false
            offer.reason = .storeSaysNo
        }
        return offer
    }

    private func isSubscribed(in group: String) -> Bool {
        let now = now
        return state.device.storeEvidence.transactions.values.contains { transaction in
            transaction.isRunningSubscription(at: now)
                && state.groups[transaction.originalID] == group
        }
    }
}

// MARK: - Conversions

extension Perennial.Product {
    /// The offers of a plan. If the plan is nil, the offers of the plan that pays the whole period
    /// at once.
    func offers(of plan: Perennial.Plan?) -> [Perennial.Offer] {
        guard let plan else { return offers }
        return plans.first { $0.kind == plan.kind }?.offers ?? []
    }

    fileprivate var hasOffers: Bool {
        !offers.isEmpty || plans.contains { !$0.offers.isEmpty }
    }
}

extension Perennial.Period {
    fileprivate init(_ term: Offerings.Term) {
        if term.days > 0 || term.months == 0 {
            self.init(term.days + term.months * 30, .day, bonusDays: term.bonusDays)
        } else if term.months % 12 == 0 {
            self.init(term.months / 12, .year, bonusDays: term.bonusDays)
        } else {
            self.init(term.months, .month, bonusDays: term.bonusDays)
        }
    }
}

extension Perennial.MetadataValue {
    init(_ value: PerennialContract.MetadataValue) {
        self.init(
            text: value.text, number: value.number, flag: value.flag,
            list: value.list?.map(Self.init), members: value.members?.mapValues(Self.init))
    }
}

extension StoreProduct {
    /// A product as the store described it at an earlier launch.
    fileprivate init(_ product: CatalogueFile.Product) {
        self.init(
            id: product.id, kind: .init(rawValue: product.kind), name: product.name,
            details: product.details, price: product.price, displayPrice: product.displayPrice,
            currencyCode: product.currencyCode,
            period: product.period.map {
                Perennial.Period($0.count, Perennial.Period.Unit(rawValue: $0.unit))
            },
            group: nil, offers: [], isFamilyShareable: product.isFamilyShareable)
    }
}

extension CatalogueFile.Product {
    fileprivate init(_ product: StoreProduct) {
        self.init(
            id: product.id, kind: product.kind.rawValue, name: product.name,
            details: product.details, price: product.price, displayPrice: product.displayPrice,
            currencyCode: product.currencyCode,
            period: product.period.map {
                CatalogueFile.Period(unit: $0.unit.rawValue, count: $0.value)
            },
            isFamilyShareable: product.isFamilyShareable)
    }
}

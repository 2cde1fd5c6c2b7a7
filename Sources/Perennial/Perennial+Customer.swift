public import Foundation

extension Perennial {
    /// From now on for this customer. What the one before had is shut at once; offline too.
    @discardableResult
    public func identify(_ customer: String) async throws(Failure) -> Snapshot {
        guard let engine else { return snapshot }
        return try await engine.identify(customer)
    }

    /// A new anonymous customer. Never fails; nothing of the old one is shown or sent on.
    @discardableResult
    public func signOut() async -> Snapshot {
        guard let engine else { return snapshot }
        return await engine.signOut()
    }

    /// Deletes the account: forgets the person on the server and here. Purchases stay the Apple
    /// account's. The server wants a proof for a person: see `Configuration.proof`.
    public func eraseCustomer() async throws(Failure) { try await engine?.erase() }

    /// Whether the App Store may be told how much was used, should they want the money back.
    public func setRefundConsent(_ consents: Bool) async throws(Failure) {
        try await engine?.setRefundConsent(consents)
    }
}

// MARK: - What is for sale

extension Perennial {
    /// What is for sale at a placement; at the first one without. From memory if the store has
    /// answered before.
    public func offering(_ placement: PlacementID? = nil) async throws(Failure) -> Offering {
        guard let engine else { return try preview!.offering(placement) }
        return try await engine.offering(placement)
    }

    /// The rows and the headline of a shop.
    public func shelf(_ placement: PlacementID? = nil) async throws(Failure) -> Shelf {
        var offering = try await offering(placement)
        for index in offering.products.indices where !offering.products[index].offers.isEmpty {
            // Without the server nobody is eligible, and no trial is promised.
            offering.products[index].offers =
                (try? await offers(for: offering.products[index].id)) ?? []
        }
        return Shelf(offering, snapshot, at: now)
    }

    /// Products by their ids, in this order. Those that the store does not know are left out.
    public func products(_ ids: [ProductID]) async throws(Failure) -> [Product] {
        guard let engine else { return preview!.products(ids) }
        return try await engine.products(ids).found
    }

    /// The offers of a product, those first that the customer may take, each with its reason.
    public func offers(for product: ProductID) async throws(Failure) -> [Offer] {
        guard let engine else { return preview!.products([product]).first?.offers ?? [] }
        return try await engine.offers(for: product)
    }
}

// MARK: - Wallets and content

extension Perennial {
    /// What is there, with what is still under way. Zero for a wallet that nobody has heard of.
    public func wallet(_ id: WalletID) -> Wallet { snapshot.wallets[id] ?? Wallet(balance: 0) }

    /// Spends once, however often it is repeated with one `key`. Offline only up to what the wallet
    /// allows.
    @discardableResult
    public func spend(
        _ amount: Int, from wallet: WalletID, for reason: String, key: UUID = UUID()
    ) async throws(Failure) -> Wallet {
        guard let engine else { return self.wallet(wallet) }
        return try await engine.spend(amount, from: wallet, for: reason, key: key)
    }

    /// What was published, the newest first, and what of it they may read.
    public func content() async throws(Failure) -> [Publication] {
        try await engine?.content() ?? []
    }

    /// A link for some minutes.
    public func link(to item: Publication.ID) async throws(Failure) -> URL {
        guard let engine else {
            throw Failure("content_unknown", remedy: "A preview has no content.")
        }
        return try await engine.link(to: item)
    }
}

// MARK: - Words

extension Perennial {
    /// Why it is open or shut: each purchase, each rule, each clock. No network.
    public func explain(_ entitlement: EntitlementID) -> Explanation {
        picture.explain(entitlement)
    }

    /// What is wrong with the set-up: key, products, environment, clock. For you, and for a mail to
    /// support.
    public func diagnose() async -> Diagnosis {
        guard let engine else { return Diagnosis(findings: []) }
        return await engine.diagnose()
    }
}

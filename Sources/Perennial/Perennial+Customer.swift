public import Foundation

extension Perennial {
    /// From now on for this customer. What the one before had is shut at once; offline too.
    ///
    /// - Parameter customer: one person's own id, 1 to 255 bytes.
    /// - Throws: `Failure`, such as `customer_id_not_valid`, if the server or this device refuses
    ///   the id. Not if the server cannot be reached: it is told later.
    @discardableResult
    public func identify(_ customer: String) async throws(Failure) -> Snapshot {
        switch part {
        case .script(let script): try await script.identify(customer)
        case .engine(let engine): try await engine.identify(customer)
        }
    }

    /// A new anonymous customer. Never fails; nothing of the old one is shown or sent on.
    @discardableResult
    public func signOut() async -> Snapshot {
        switch part {
        case .script(let script): script.signOut()
        case .engine(let engine): await engine.signOut()
        }
    }

    /// Deletes the account: forgets the person on the server and here. Purchases stay the Apple
    /// account's. The server wants a proof for a person: see `Configuration.proof`.
    ///
    /// - Throws: `Failure` if the server has not confirmed it. Then nothing is forgotten here: call
    ///   it again.
    public func eraseCustomer() async throws(Failure) {
        switch part {
        case .script(let script): try await script.erase()
        case .engine(let engine): try await engine.erase()
        }
    }

    /// Whether the App Store may be told how much was used, if the customer asks for a refund.
    ///
    /// - Throws: `Failure` if the server has not recorded it.
    public func setRefundConsent(_ consents: Bool) async throws(Failure) {
        guard case .engine(let engine) = part else { return }
        try await engine.setRefundConsent(consents)
    }
}

// MARK: - What is for sale

extension Perennial {
    /// What is for sale at a placement; at the first one without. From memory if the store has
    /// answered before.
    ///
    /// - Throws: `Failure`, temporary if neither the server nor a file in the app has said yet what
    ///   is for sale, or if the store cannot be reached; `placement_unknown`.
    public func offering(_ placement: PlacementID? = nil) async throws(Failure) -> Offering {
        switch part {
        case .script(let script): try await script.offering(placement)
        case .engine(let engine): try await engine.offering(placement)
        }
    }

    /// The rows and the headline of a shop.
    ///
    /// - Throws: as ``offering(_:)``.
    public func paywallContent(_ placement: PlacementID? = nil) async throws(Failure)
        -> PaywallContent
    {
        PaywallContent(try await offeringWithEligibility(placement), snapshot, at: now)
    }

    /// An offering that says which of its offers the customer may take. Asks the server.
    package func offeringWithEligibility(_ placement: PlacementID?) async throws(Failure)
        -> Offering
    {
        switch part {
        case .script(let script): try await script.offering(placement)
        case .engine(let engine): try await engine.offeringWithEligibility(placement)
        }
    }

    /// Products by their ids, in this order. Those that the store does not know are left out.
    ///
    /// - Throws: `Failure` if the store cannot be asked.
    public func products(_ ids: [ProductID]) async throws(Failure) -> [Product] {
        switch part {
        case .script(let script): try await script.products(ids)
        case .engine(let engine): try await engine.products(ids).found
        }
    }

    /// The offers of a product, those first that the customer may take, each with its reason.
    ///
    /// - Parameter plan: one of the product's plans, whose offers are meant. Nil: those of the
    ///   whole period at once.
    /// - Throws: `Failure` if the store or the server cannot be asked.
    public func offers(
        for product: ProductID, of plan: Plan? = nil
    ) async throws(Failure) -> [Offer] {
        switch part {
        case .script(let script):
            try await script.products([product]).first?.offers(of: plan) ?? []
        case .engine(let engine): try await engine.offers(for: product, of: plan)
        }
    }
}

// MARK: - Wallets and content

extension Perennial {
    /// What is there, with what is still under way. Zero for a wallet that nobody has heard of, and
    /// before the server has answered: see ``Wallet/isKnown``.
    public func wallet(_ id: WalletID) -> Wallet { snapshot[wallet: id] }

    /// Spends once, however often it is repeated with one `key`. Offline only up to what the wallet
    /// allows.
    ///
    /// - Parameters:
    ///   - amount: units of the wallet, more than 0.
    ///   - reason: shown on the statement.
    /// - Throws: `Failure` if nothing was spent: `wallet_balance_too_low`, `spending_not_allowed`.
    @discardableResult
    public func spend(
        _ amount: Int, from wallet: WalletID, for reason: String, key: UUID = UUID()
    ) async throws(Failure) -> Wallet {
        switch part {
        case .script(let script): try await script.spend(amount, from: wallet, key: key)
        case .engine(let engine):
            try await engine.spend(amount, from: wallet, for: reason, key: key)
        }
    }

    /// What was published, the newest first, and what of it they may read.
    ///
    /// - Throws: `Failure` if the server cannot be asked.
    public func content() async throws(Failure) -> [Publication] {
        guard case .engine(let engine) = part else { return [] }
        return try await engine.content()
    }

    /// A link for some minutes.
    ///
    /// - Throws: `Failure` if they may not read it, or if the server cannot be asked.
    public func link(to item: Publication.ID) async throws(Failure) -> URL {
        guard case .engine(let engine) = part else {
            throw Failure("content_unknown", remedy: "A preview has no content.")
        }
        return try await engine.link(to: item)
    }
}

// MARK: - Words

extension Perennial {
    /// Why it is open or shut: each purchase, each rule, each clock. No network.
    public func explain(_ entitlement: EntitlementID) -> Explanation {
        switch part {
        case .script(let script): script.explain(entitlement)
        case .engine: publisher.explain(entitlement)
        }
    }

    /// What is wrong with the set-up: key, products, environment, clock. For you, and for a mail to
    /// support.
    public func diagnose() async -> Diagnosis {
        guard case .engine(let engine) = part else { return Diagnosis(findings: []) }
        return await engine.diagnose()
    }
}

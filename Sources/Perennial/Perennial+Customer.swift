public import Foundation

extension Perennial {
    /// Signs a customer in. All access of the previous customer is shut at once, even offline.
    /// Returns what is known about the new customer.
    ///
    /// - Parameter customer: the id of one person in your app, 1 to 255 bytes of UTF-8.
    /// - Throws: `Failure`, such as `customer_id_not_valid`, if the server or this device refuses
    ///   the id. Does not throw if the server cannot be reached: the log-in is sent later.
    @discardableResult
    public func identify(_ customer: String) async throws(Failure) -> Snapshot {
        switch part {
        case .script(let script): try await script.identify(customer)
        case .engine(let engine): try await engine.identify(customer)
        }
    }

    /// Signs out, and begins a new anonymous customer. Signing out never fails. From then on, no
    /// data of the old customer is shown or sent.
    @discardableResult
    public func signOut() async -> Snapshot {
        switch part {
        case .script(let script): script.signOut()
        case .engine(let engine): await engine.signOut()
        }
    }

    /// Deletes the account: erases the person on the server and on this device. The purchases stay
    /// with the Apple account. The server requires a proof for a person: see `Configuration.proof`.
    ///
    /// - Throws: `Failure` if the server has not confirmed the erasure. In that case nothing is
    ///   erased on this device; call the function again.
    public func eraseCustomer() async throws(Failure) {
        switch part {
        case .script(let script): try await script.erase()
        case .engine(let engine): try await engine.erase()
        }
    }

    /// Records whether, after a refund request, the App Store may learn how much the customer used.
    ///
    /// - Throws: `Failure` if the server has not recorded the consent.
    public func setRefundConsent(_ consents: Bool) async throws(Failure) {
        guard case .engine(let engine) = part else { return }
        try await engine.setRefundConsent(consents)
    }
}

// MARK: - What is for sale

extension Perennial {
    /// The products for sale at a placement; without an argument, at the first placement. If the
    /// store has answered before, the products are read from memory.
    ///
    /// - Throws: `Failure`: a temporary one if neither the server nor a file in the app has
    ///   provided offerings yet, or if the store cannot be reached; `placement_unknown` if the
    ///   server's configuration has no such placement.
    public func offering(_ placement: PlacementID? = nil) async throws(Failure) -> Offering {
        switch part {
        case .script(let script): try await script.offering(placement)
        case .engine(let engine): try await engine.offering(placement)
        }
    }

    /// The rows and the headline of a paywall.
    ///
    /// - Throws: `Failure` in the same cases as ``offering(_:)``.
    public func paywallContent(_ placement: PlacementID? = nil) async throws(Failure)
        -> PaywallContent
    {
        PaywallContent(try await offeringWithEligibility(placement), snapshot, at: now)
    }

    /// An offering that says for which of its offers the customer is eligible. The function sends a
    /// request to the server.
    package func offeringWithEligibility(_ placement: PlacementID?) async throws(Failure)
        -> Offering
    {
        switch part {
        case .script(let script): try await script.offering(placement)
        case .engine(let engine): try await engine.offeringWithEligibility(placement)
        }
    }

    /// The products with these ids, in this order. Products that the store does not know are left
    /// out.
    ///
    /// - Throws: `Failure` if the store cannot be asked.
    public func products(_ ids: [ProductID]) async throws(Failure) -> [Product] {
        switch part {
        case .script(let script): try await script.products(ids)
        case .engine(let engine): try await engine.products(ids).found
        }
    }

    /// The offers of a product, each with the reason why the customer is or is not eligible for it.
    /// Offers for which the customer is eligible come first.
    ///
    /// - Parameter plan: one of the product's plans. If nil, the plan that pays the whole period at
    ///   once.
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
    /// The wallet with its balance, which includes unconfirmed purchases and debits. The balance is
    /// zero for an unknown wallet, and until the server has answered: see ``Wallet/isKnown``.
    public func wallet(_ id: WalletID) -> Wallet { snapshot[wallet: id] }

    /// Spends from a wallet. Idempotent by `key`. Without the network, the customer can spend at
    /// most the amount that the wallet's configuration allows.
    ///
    /// - Parameters:
    ///   - amount: units of the wallet, more than 0.
    ///   - reason: the text that the wallet's statement shows.
    ///   - key: identifies this expense. A repeated call with the same key spends nothing more.
    /// - Returns: the wallet after the expense. If the server could not be reached, the expense is
    ///   saved on this device and sent later.
    /// - Throws: `Failure`, such as `wallet_balance_too_low` or `spending_not_allowed`. After a
    ///   permanent failure nothing was spent. After a temporary one, such as `server_unreachable`,
    ///   the server may have spent the amount: call again with the same key.
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

    /// All publications, newest first. Each says whether the customer may read it.
    ///
    /// - Throws: `Failure` if the server cannot be asked.
    public func content() async throws(Failure) -> [Publication] {
        guard case .engine(let engine) = part else { return [] }
        return try await engine.content()
    }

    /// A link to a publication's file. The link is valid for some minutes.
    ///
    /// - Throws: `Failure` if the customer may not read the publication, or if the server cannot be
    ///   asked.
    public func link(to item: Publication.ID) async throws(Failure) -> URL {
        guard case .engine(let engine) = part else {
            throw Failure("content_unknown", remedy: "A preview has no content.")
        }
        return try await engine.link(to: item)
    }
}

// MARK: - Explanations

extension Perennial {
    /// Why an entitlement is open or shut: each purchase, each rule, each clock. Uses no network.
    public func explain(_ entitlement: EntitlementID) -> Explanation {
        switch part {
        case .script(let script): script.explain(entitlement)
        case .engine: publisher.explain(entitlement)
        }
    }

    /// Finds faults in the set-up: key, products, environment, clock. For developers, and for mails
    /// to support.
    public func diagnose() async -> Diagnosis {
        guard case .engine(let engine) = part else { return Diagnosis(findings: []) }
        return await engine.diagnose()
    }
}

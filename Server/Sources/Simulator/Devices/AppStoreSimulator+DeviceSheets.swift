import AppStoreFormats

// The sheets that the App Store shows over the app, and the customer's actions on them.

/// What StoreKit returns from the sheet of a refund request.
enum RefundSheetResult: String, Hashable, Sendable, CaseIterable {
    case success
    case userCancelled = "user_cancelled"
    /// A refund of this transaction was requested before, and was granted or is undecided.
    case duplicateRequest = "duplicate_request"
    case failed
}

extension AppStoreSimulator {
    /// The customer opens the sheet of a refund request, and sends it unless `isCancelled`.
    func requestRefund(
        of transactionID: String, on deviceID: String, isCancelled: Bool,
        reason: ConsumptionRequestReason, decision: RefundRequest.Decision?
    ) async throws -> RefundSheetResult {
        try await check(.refund, on: deviceID)
        let (result, _) = try await perform { world, now throws(SimulatorProblem) in
            let account = try world.device(deviceID).account
            let id = world.transactionIDs.canonicalID(of: transactionID)
            guard let transaction = world.transactions(of: account).first(where: { $0.id == id })
            else { throw .unknownTransaction(transactionID) }
            if isCancelled { return (RefundSheetResult.userCancelled, []) }
            if world.refundRequests[id] != nil || transaction.revocation != nil {
                return (.duplicateRequest, [])
            }
            guard transaction.sharedFrom == nil, !transaction.isUpgraded else {
                return (.failed, [])
            }
            let notices = try world.apply(
                .requestRefund(reason, decision), toTransaction: id, at: now)
            return (.success, notices)
        }
        return result
    }

    /// The customer opens the list of subscriptions, changes something or nothing, and closes it.
    ///
    /// - Parameter group: the subscription group that is shown; nil for all groups.
    /// - Returns: the original transaction ids of the subscriptions that were shown.
    func manageSubscriptions(
        on deviceID: String, group: String?, _ act: SubscriptionAct?
    ) async throws -> [String] {
        try await check(.manage, on: deviceID)
        return try await perform { world, now throws(SimulatorProblem) in
            let account = try world.device(deviceID).account
            let shown = world.chains(of: account).filter {
                $0.latest.sharedFrom == nil && (group == nil || $0.groupID == group)
            }.map(\.id)
            guard let act else { return (shown, []) }
            guard let id = shown.first, shown.count == 1 else {
                throw .wrongState(
                    "The list shows \(shown.count) subscriptions, so it is not clear which one "
                        + "the customer changes.",
                    remedy: "Send group_id of a subscription that the account bought itself.")
            }
            return (shown, try world.apply(act, to: id, at: now))
        }.0
    }

    /// The customer enters an offer code in the sheet. The transaction arrives with the device's
    /// updates, and is also returned, as since iOS 27.
    ///
    /// - Parameter productID: the product of the code; nil for the first product that has a code of
    ///   this name.
    func redeemCode(
        _ code: String, productID: String?, on deviceID: String
    ) async throws -> PurchaseOutcome {
        try await check(.redeem, on: deviceID)
        let products = settings.shop.products.filter { productID == nil || $0.id == productID }
        guard let product = products.first(where: { $0.codes.contains { $0.id == code } }) else {
            throw SimulatorProblem(
                "unknown_offer", status: 404, "There is no code \(code) here.",
                remedy: "Add it as a codeOffer to the shop's file, or name another product_id.")
        }
        let order = PurchaseOrder(product.id, offerID: code)
        if let obstacle = try obstacle(on: deviceID) { return obstacle }
        let (transaction, _) = try await perform { world, now throws(SimulatorProblem) in
            // No `orderingDevice`: this device is notified, too.
            try world.purchase(order, on: deviceID, at: now)
        }
        return .purchased(try show(purchased: transaction, on: deviceID))
    }

    /// Shows a message, and applies the customer's choice.
    func display(
        message id: String, on deviceID: String, _ choice: StoreMessage.Choice
    ) async throws {
        _ = try await perform { world, now throws(SimulatorProblem) in
            guard let message = try world.messages(on: deviceID).first(where: { $0.id == id })
            else {
                throw SimulatorProblem(
                    "unknown_message", status: 404, "No message \(id) waits on \(deviceID).",
                    remedy: "GET /_sim/devices/\(deviceID)/messages lists those that wait.")
            }
            let notices = try world.follow(choice, on: message, at: now)
            var life = world.lives[deviceID] ?? DeviceLife()
            life.orderedMessages.removeAll { $0.id == id }
            life.displayedMessages.insert(id)
            world.lives[deviceID] = life
            return ((), notices)
        }
    }

    /// Adds a message to the StoreKit messages that wait on a device. No subscription causes this
    /// message.
    func order(
        message reason: StoreMessage.Reason, on deviceID: String
    ) throws(SimulatorProblem) {
        try changeLife(of: deviceID) { life, _ throws(SimulatorProblem) in
            guard life.orderedMessages.count < DeviceLife.waitingMax else { throw .full }
            life.arrivals += 1
            life.orderedMessages.append(
                StoreMessage(id: "\(reason.rawValue)-\(life.arrivals)", reason: reason))
        }
        announceMessages(to: deviceID)
    }

    /// The customer chooses a promoted product in the App Store.
    func addIntent(
        to productID: String, offer: String?, on deviceID: String
    ) throws(SimulatorProblem) {
        _ = try world.product(productID)
        try changeLife(of: deviceID) { life, _ throws(SimulatorProblem) in
            guard life.intents.count < DeviceLife.waitingMax else { throw .full }
            life.arrivals += 1
            life.intents.append(
                PurchaseIntent(
                    id: "intent-\(life.arrivals)", productID: productID, offerID: offer))
        }
        guard let intent = world.lives[deviceID]?.intents.last else { return }
        appendEvent("purchase_intent", intent.json, to: deviceID)
    }

    /// The app takes a purchase intent, which is then removed.
    func removeIntent(_ id: String, on deviceID: String) throws(SimulatorProblem) {
        try changeLife(of: deviceID) { life, _ throws(SimulatorProblem) in
            guard let index = life.intents.firstIndex(where: { $0.id == id }) else {
                throw SimulatorProblem(
                    "unknown_intent", status: 404, "No intent \(id) waits on \(deviceID).",
                    remedy: "GET /_sim/devices/\(deviceID)/purchase-intents lists those that wait.")
            }
            life.intents.remove(at: index)
        }
    }
}

extension World {
    /// Applies a customer's choice on a message to the subscription that it is about.
    fileprivate mutating func follow(
        _ choice: StoreMessage.Choice, on message: StoreMessage, at now: AppStoreDate
    ) throws(SimulatorProblem) -> [NotificationDraft] {
        guard let id = message.originalTransactionID else { return [] }
        switch (message.reason, choice) {
        case (.priceIncreaseConsent, .accept): return try apply(.consent, to: id, at: now)
        case (.priceIncreaseConsent, .decline): return try apply(.decline, to: id, at: now)
        case (.billingIssue, .accept): return try apply(.recoverBilling, to: id, at: now)
        case (.winBackOffer, .accept):
            return try winBack(id, offerID: nil, productID: nil, at: now)
        case (.generic, _), (.billingIssue, _), (.winBackOffer, _), (.priceIncreaseConsent, .close):
            return []
        }
    }
}

extension StoreKitProduct {
    /// The codes that can be redeemed for the product.
    var codes: [StoreKitOffer] { subscription?.codeOffers ?? codeOffers }
}

import AppStoreFormats

/// A sheet that the App Store wants to show in the app (StoreKit's `Message`).
struct StoreMessage: Hashable, Sendable {
    enum Reason: String, Hashable, Sendable, CaseIterable {
        case generic
        case priceIncreaseConsent = "price_increase_consent"
        case billingIssue = "billing_issue"
        case winBackOffer = "win_back_offer"
    }

    /// The customer's choice.
    enum Choice: String, Hashable, Sendable, CaseIterable {
        /// Agrees to the price, corrects the payment, or takes the offer.
        case accept
        /// Refuses the price.
        case decline
        case close
    }

    let id: String
    let reason: Reason
    /// The subscription that the message is about.
    var originalTransactionID: String?
    var productID: String?
}

extension World {
    /// The messages that wait on a device, in order of its subscriptions. A message waits until it
    /// is displayed. A new price increase, a new payment failure or a new end of a subscription
    /// causes a new message.
    func messages(on deviceID: String) throws(SimulatorProblem) -> [StoreMessage] {
        let account = try device(deviceID).account
        let life = lives[deviceID] ?? DeviceLife()
        let own = chains(of: account).filter { $0.latest.sharedFrom == nil }
        let all = life.orderedMessages + own.compactMap(message)
        return all.filter { !life.displayedMessages.contains($0.id) }
    }

    private func message(about chain: Subscription) -> StoreMessage? {
        func message(_ reason: StoreMessage.Reason, since: AppStoreDate) -> StoreMessage {
            StoreMessage(
                id: "\(reason.rawValue)-\(chain.id)-\(since.milliseconds)", reason: reason,
                originalTransactionID: chain.id, productID: chain.nextProduct.id)
        }
        if chain.isRetrying { return message(.billingIssue, since: chain.paidUntil) }
        if let rise = chain.announcedRise, rise.isPending, !chain.isOver {
            return message(.priceIncreaseConsent, since: rise.announced)
        }
        let offers = chain.nextProduct.subscription?.winBackOffers ?? []
        guard chain.isOver, offers.contains(where: \.isEligible) else { return nil }
        return message(.winBackOffer, since: chain.paidUntil)
    }
}

import AppStoreFormats

// The subscription report lists who was subscribed at the end of a day. The subscriber report lists
// who paid.

extension ReportBooks {
    /// The rows of SUBSCRIPTION for the end of a day.
    func subscriptionRows(at day: CivilDate) -> [SubscriptionRow] {
        let end = calendar.span(from: day, to: day).upperBound
        let moment = AppStoreDate(milliseconds: end.milliseconds - 1)
        let rows = subscriptions.compactMap { purchase in
            purchase.history.standing(at: moment).map { subscriptionRow(purchase, $0) }
        }
        return summed(Array(rows))
    }

    /// Combines rows that are equal in everything but their counters, and adds up the counters.
    private func summed(_ rows: [SubscriptionRow]) -> [SubscriptionRow] {
        var places: [SubscriptionRow: Int] = [:]
        var sums: [SubscriptionRow] = []
        for row in rows {
            let key = row.withoutCounters
            if let place = places[key] {
                sums[place].addCounters(of: row)
            } else {
                places[key] = sums.count
                sums.append(row)
            }
        }
        return sums
    }

    private func subscriptionRow(
        _ purchase: ReportedPurchase, _ standing: PurchaseHistory.Standing
    ) -> SubscriptionRow {
        var row: SubscriptionRow
        switch standing {
        case .open(let charge):
            row = subscriptionRow(purchase, charge)
            row.count(charge.transaction.offer)
            row.subscribers = 1
        case .grace(let charge):
            row = subscriptionRow(purchase, charge)
            row.gracePeriod = 1
            row.subscribers = 1
        case .retry(let charge):
            row = subscriptionRow(purchase, charge)
            row.billingRetry = 1
        }
        return row
    }

    private func subscriptionRow(
        _ purchase: ReportedPurchase, _ charge: PurchaseHistory.Charge
    ) -> SubscriptionRow {
        let transaction = charge.transaction
        let place = purchase.charges.firstIndex { $0.transaction.id == transaction.id } ?? 0
        let isReduced = purchase.isReduced(place)
        var row = SubscriptionRow()
        row.appName = appName
        row.appAppleID = appAppleID
        row.subscriptionName = title(of: transaction.product)
        row.subscriptionAppleID = appleID(of: transaction.product)
        row.subscriptionGroupID = groupNumber(transaction)
        row.standardDuration = transaction.reportedDuration
        row.offerName = transaction.offer?.reportedReference ?? ""
        row.promotionalOfferID = transaction.offer?.reportedIdentifier ?? ""
        row.customerPrice = transaction.price
        row.customerCurrency = transaction.storefront.currency
        row.developerProceeds = rules.proceeds(
            of: transaction.price, in: transaction.storefront, isReduced: isReduced,
            at: transaction.purchased)
        row.proceedsCurrency = transaction.storefront.currency
        row.isPricePreserved = isPricePreserved(charge)
        row.proceedsReason = proceedsReason(
            isReduced: isReduced, at: transaction.purchased)
        row.device = .iPhone
        row.country = transaction.storefront.twoLetterCountry
        row.zeroLaterCounters()
        return row
    }

    // MARK: - Subscribers

    /// The rows of SUBSCRIBER for a day: each payment and refund of a subscription.
    func subscriberRows(on day: CivilDate) -> [SubscriberRow] {
        let span = calendar.span(from: day, to: day)
        return subscriptions.flatMap { $0.sales(in: span) }.map { subscriberRow(of: $0, on: day) }
    }

    private func subscriberRow(of sale: ReportedSale, on day: CivilDate) -> SubscriberRow {
        let transaction = sale.transaction
        var row = SubscriberRow()
        row.eventDate = day
        row.appName = appName
        row.appAppleID = appAppleID
        row.subscriptionName = title(of: transaction.product)
        row.subscriptionAppleID = appleID(of: transaction.product)
        row.subscriptionGroupID = groupNumber(transaction)
        row.standardDuration = transaction.reportedDuration
        row.offerName = transaction.offer?.reportedReference ?? ""
        row.promotionalOfferID = transaction.offer?.reportedIdentifier ?? ""
        row.offerType = transaction.offer?.reportedType
        row.offerDuration = transaction.offer?.reportedDuration
        row.customerPrice = sale.customerPrice
        row.customerCurrency = transaction.storefront.currency
        row.developerProceeds = sale.proceeds(rules)
        row.proceedsCurrency = transaction.storefront.currency
        row.isPricePreserved = isPricePreserved(sale.charge)
        row.proceedsReason = proceedsReason(
            isReduced: sale.isReduced, at: transaction.purchased)
        row.device = .iPhone
        row.country = transaction.storefront.twoLetterCountry
        let resets = sale.purchase.numberResets(until: sale.place)
        row.subscriberID = number(of: "\(transaction.account.name) \(resets.count)", digits: 13)
        row.isSubscriberIDReset = resets.last == sale.place
        row.units = sale.units
        if sale.kind != .sale {
            row.isMarkedAsRefund = true
            row.purchaseDate = calendar.day(of: sale.charge.at)
        }
        return row
    }
}

extension ReportedPurchase {
    /// Days without a subscription after which Apple gives the subscriber another number.
    private static let numberDays: Int64 = 180

    /// The places of the charges at which the subscriber got another number. Considers only the
    /// charges up to `place`.
    fileprivate func numberResets(until place: Int) -> [Int] {
        guard place > 0 else { return [] }
        return (1...place).filter { index in
            let end = charges[index - 1].transaction.reportedEnd
            let gap = charges[index].transaction.purchased.milliseconds - end.milliseconds
            return gap > Self.numberDays * RFC3339.millisecondsPerDay
        }
    }
}

extension StoreKitOffer {
    /// The offer's name in reports. Nil for introductory offers, which have no name.
    var reportedReference: String? { type == .introductory ? nil : id }
    var reportedIdentifier: String? { type == .introductory || type == .code ? nil : id }
}

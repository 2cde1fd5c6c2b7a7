import AppStoreFormats

// The subscription event report.

extension ReportBooks {
    /// The rows of SUBSCRIPTION_EVENT for a day.
    func eventRows(on day: CivilDate) -> [SubscriptionEventRow] {
        let span = calendar.span(from: day, to: day)
        let rows = subscriptions.flatMap { purchase in
            purchase.events.filter { span.contains($0.at) }.map {
                eventRow($0, of: purchase, on: day)
            }
        }
        return rows.counted().map { row, count in
            var row = row
            row.quantity = count
            return row
        }
    }

    private func eventRow(
        _ event: ReportedEvent, of purchase: ReportedPurchase, on day: CivilDate
    ) -> SubscriptionEventRow {
        let charge = purchase.charges[event.place]
        let transaction = charge.transaction
        var row = SubscriptionEventRow()
        row.eventDate = day
        row.event = event.event
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
        row.consecutivePaidPeriods = purchase.paidPeriods(until: event.place)
        row.originalStartDate = calendar.day(of: transaction.originallyPurchased)
        row.device = .iPhone
        row.country = transaction.storefront.twoLetterCountry
        row.cancellationReason = event.cancellationReason
        row.daysBeforeCanceling = event.daysBeforeCanceling
        row.daysCanceled = event.daysCanceled
        row.paidServiceDaysRecovered = event.daysRecovered
        if event.isRenewal {
            row.isPricePreserved = isPricePreserved(charge)
            row.proceedsReason = proceedsReason(
                isReduced: purchase.isReduced(event.place), at: transaction.purchased)
        }
        if event.isChange, event.place > 0 {
            let old = purchase.charges[event.place - 1].transaction.product
            row.previousSubscriptionName = title(of: old)
            row.previousSubscriptionAppleID = appleID(of: old)
        }
        return row
    }
}

extension ReportedEvent {
    fileprivate var isRenewal: Bool {
        event.family == .renewal || event.family == .conversion
    }

    fileprivate var isChange: Bool {
        switch event.family {
        case .upgrade, .downgrade, .crossgrade: true
        default: event.rawValue.contains(" with ")
        }
    }
}

extension ReportedPurchase {
    /// The number of paid periods that followed each other up to a charge, including its own
    /// period.
    fileprivate func paidPeriods(until place: Int) -> Int64 {
        var count: Int64 = 0
        for index in charges[...place].indices.reversed() {
            let transaction = charges[index].transaction
            guard transaction.price > 0 else { break }
            count += 1
            let isReturn = transaction.reason == .purchase && index > 0
            if isReturn, !charges[index - 1].transaction.isUpgraded { break }
        }
        return count
    }
}

import AppStoreFormats

// The sales report and the financial report: units and money.

extension ReportBooks {
    /// The rows of SALES for a span of days.
    func salesRows(from first: CivilDate, to last: CivilDate) -> [SalesRow] {
        let span = calendar.span(from: first, to: last)
        let sales = purchases.flatMap { $0.sales(in: span) }
        return summed(
            sales.map { sale in
                var row = salesRow(of: sale)
                (row.begin, row.end) = (first, last)
                return row
            })
    }

    /// The rows of SALES for each day of a span. Days without rows are absent.
    func salesRowsByDay(from first: CivilDate, to last: CivilDate) -> [CivilDate: [SalesRow]] {
        let span = calendar.span(from: first, to: last)
        let sales = purchases.flatMap { $0.sales(in: span) }
        return Dictionary(grouping: sales) { calendar.day(of: $0.at) }.mapValues { sales in
            summed(
                sales.map { sale in
                    var row = salesRow(of: sale)
                    row.begin = calendar.day(of: sale.at)
                    row.end = row.begin
                    return row
                })
        }
    }

    /// Adds up the units of rows that are equal in everything else. A refund has a separate row,
    /// even if the product was free. Partial refunds have no units to add up, so each has a
    /// separate row.
    private func summed(_ rows: [SalesRow]) -> [SalesRow] {
        var places: [SalesRow: Int] = [:]
        var sums: [SalesRow] = []
        for row in rows {
            var key = row
            key.units = row.units.signum()
            if !row.isPartialRefund, let place = places[key] {
                sums[place].units += row.units
            } else {
                if !row.isPartialRefund { places[key] = sums.count }
                sums.append(row)
            }
        }
        return sums
    }

    private func salesRow(of sale: ReportedSale) -> SalesRow {
        let transaction = sale.transaction
        let product = transaction.product
        var row = SalesRow()
        row.sku = transaction.reportedItems { $0.sku } ?? product.id
        row.title = transaction.reportedItems { $0.displayName } ?? title(of: product)
        row.productType = product.reportedType
        row.units = sale.units
        row.developerProceeds = sale.proceeds(rules)
        row.customerCurrency = transaction.storefront.currency
        row.countryCode = transaction.storefront.twoLetterCountry
        row.proceedsCurrency = transaction.storefront.currency
        row.appleID = appleID(of: product)
        row.customerPrice = sale.customerPrice
        row.promoCode = transaction.offer?.discount == .freeTrial ? "FREE" : ""
        row.parentIdentifier = appSKU
        row.category = "Reference"
        row.device = .iPhone
        row.supportedPlatforms = "iOS"
        guard product.subscription != nil else { return row }
        row.subscription = transaction.reason == .renewal ? .renewal : .new
        row.period = transaction.reportedDuration
        row.orderType = transaction.offer?.orderType
        row.proceedsReason = proceedsReason(
            isReduced: sale.isReduced, at: transaction.purchased)
        row.isPricePreserved = isPricePreserved(sale.charge)
        return row
    }

    /// The app's SKU in reports. The bundle id is used, because the simulator does not know the
    /// SKU.
    private var appSKU: String { appName }

    // MARK: - Financial

    /// The rows of FINANCIAL for a fiscal month and a region, or for all regions if `region` is
    /// ``FinanceReportRequest/allRegions``. Free units are rows without an amount, as in Apple's
    /// files.
    func financialRows(of month: AppleFiscalMonth, region: String) -> [FinancialRow] {
        let span = calendar.span(from: month.first, to: month.last)
        let rows = purchases.flatMap { $0.sales(in: span) }.compactMap { sale -> FinancialRow? in
            let own = sale.transaction.storefront.reportRegion
            guard region == own || region == Self.allRegions else { return nil }
            var row = financialRow(of: sale)
            (row.start, row.end) = (month.first, month.last)
            return row
        }
        return summed(rows)
    }

    private static let allRegions = FinanceReportRequest.allRegions

    private func summed(_ rows: [FinancialRow]) -> [FinancialRow] {
        var places: [FinancialRow: Int] = [:]
        var sums: [FinancialRow] = []
        for row in rows {
            var key = row
            (key.quantity, key.extendedPartnerShare) = (0, 0)
            if let place = places[key] {
                sums[place].quantity += row.quantity
                sums[place].extendedPartnerShare += row.extendedPartnerShare
            } else {
                places[key] = sums.count
                sums.append(row)
            }
        }
        return sums
    }

    private func financialRow(of sale: ReportedSale) -> FinancialRow {
        let transaction = sale.transaction
        let share = sale.proceeds(rules)
        var row = FinancialRow()
        row.vendorIdentifier = transaction.product.id
        row.quantity = sale.units
        row.partnerShare = share
        row.extendedPartnerShare = sale.units == 0 ? -share : sale.units * share
        row.partnerShareCurrency = transaction.storefront.currency
        row.direction = sale.kind == .sale ? .sale : .return
        row.appleID = appleID(of: transaction.product)
        row.title = title(of: transaction.product)
        row.productType = transaction.product.reportedType
        row.countryOfSale = transaction.storefront.twoLetterCountry
        row.customerPrice = sale.customerPrice
        row.customerCurrency = transaction.storefront.currency
        return row
    }
}

extension StoreKitProduct {
    fileprivate var reportedType: SalesReportProductType {
        switch type {
        case .autoRenewable: .autoRenewable
        case .nonRenewing: .nonRenewing
        default: .inAppPurchase
        }
    }
}

extension StoreTransaction {
    /// The text of the sales report about a purchase through the Advanced Commerce API: the SKUs or
    /// the names of all items, each in single quotation marks (Apple: "Summary Sales Report").
    ///
    /// - Returns: nil for any other purchase.
    fileprivate func reportedItems(
        _ name: (AdvancedCommerceTransactionItem) -> String?
    ) -> String? {
        guard let items = advancedCommerce?.value.items, !items.isEmpty else { return nil }
        return items.map { "'\(name($0) ?? "")'" }.joined(separator: ",")
    }
}

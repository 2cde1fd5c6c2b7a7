import AppStoreFormats
import Ledger
import Reports
import Storage

// Our transactions and the App Store's rows as figures that can be compared.

extension SalesShift {
    /// - Parameters:
    ///   - subject: the text that is compared in place of the product; nil to compare the product
    ///     itself.
    ///   - day: converts a moment to a day of the compared figures; nil if that day is not
    ///     compared.
    /// - Returns: nil if both sides count the transaction on the same day, or on days that are not
    ///   compared.
    init?(
        _ shift: TransactionShift, subject: ProductID? = nil, day: (Instant) -> Int64?
    ) {
        var sale = TransactionSale(shift.line)
        sale.product = subject ?? sale.product
        switch shift.kind {
        case .collectedLater(let moment):
            let (ours, apples) = (day(sale.chargedAt), day(moment))
            guard ours != apples else { return nil }
            self.init(
                .chargeOnAnotherDay, removed: ours.map { SalesFigure(soldBy: sale, on: $0) },
                added: apples.map { [SalesFigure(soldBy: sale, on: $0)] } ?? [])
        case .refundReversed(let moment):
            guard sale.refunded > 0 else { return nil }
            var added =
                sale.refundedAt.flatMap(day).map { [SalesFigure(refundedBy: sale, on: $0)] }
                ?? []
            // A charge of only a part of the price is not in any report.
            if sale.refunded == sale.gross, let again = day(moment) {
                added.append(SalesFigure(soldBy: sale, on: again))
            }
            guard !added.isEmpty else { return nil }
            self.init(.refundReversed, added: added)
        }
    }
}

extension SalesFigure {
    /// The figure of a transaction's sale, free or not.
    init(soldBy sale: TransactionSale, on day: Int64) {
        self.init(Key(sale, on: day))
        units = sale.quantity
        gross = sale.gross
        proceeds = sale.proceeds
        freeUnits = sale.gross == 0 ? sale.quantity : 0
    }

    init(refundedBy sale: TransactionSale, on day: Int64) {
        self.init(Key(sale, on: day))
        refundedUnits = sale.refundedUnits
        refunded = sale.refunded
        proceeds = -sale.refundedProceeds
    }
}

extension SalesFigure.Key {
    fileprivate init(_ sale: TransactionSale, on day: Int64) {
        self.init(
            day: day, product: sale.product,
            country: sale.storefront.map { CountryCode.twoLetters(of: $0) ?? $0 },
            currency: sale.currency)
    }
}

/// Adds up sales to one figure for each key.
struct SalesFigures {
    private var figures: [SalesFigure.Key: SalesFigure] = [:]

    var all: [SalesFigure] { Array(figures.values) }

    mutating func add(_ figure: SalesFigure) {
        figures[figure.key, default: SalesFigure(figure.key)].add(figure)
    }

    /// Adds a row of a sales report.
    mutating func add(_ row: SalesRow, _ products: ReportProducts) {
        var figure = SalesFigure(
            SalesFigure.Key(
                day: row.begin.daysSince1970, product: products.product(named: row.sku),
                country: row.countryCode, currency: row.customerCurrency))
        if row.isRefund {
            figure.refundedUnits = max(-row.units, row.isPartialRefund ? 1 : 0)
            figure.refunded = -row.customerAmount
        } else {
            figure.units = row.units
            figure.gross = row.customerAmount
            figure.freeUnits = row.customerPrice == 0 ? row.units : 0
        }
        let isSameCurrency =
            row.proceedsCurrency.isEmpty || row.proceedsCurrency == row.customerCurrency
        figure.proceeds = isSameCurrency ? row.proceeds : nil
        add(figure)
    }

    /// Adds a row of a subscriber report, which does not name products by their ids.
    mutating func add(_ row: SubscriberRow, as subject: ProductID) {
        var figure = SalesFigure(
            SalesFigure.Key(
                day: row.eventDate.daysSince1970, product: subject, country: row.country,
                currency: row.customerCurrency))
        if row.isRefund {
            figure.refundedUnits = max(-row.units, row.isPartialRefund ? 1 : 0)
            figure.refunded = -row.customerAmount
        } else {
            figure.units = row.units
            figure.gross = row.customerAmount
            figure.freeUnits = row.customerPrice == 0 ? row.units : 0
        }
        let isSameCurrency = row.proceedsCurrency == row.customerCurrency
        figure.proceeds = isSameCurrency ? row.proceeds : nil
        add(figure)
    }

    /// Adds a row of a financial report to the figure of the first day of its fiscal month. Free
    /// units are left out: the App Store pays the seller nothing for them.
    mutating func add(_ row: FinancialRow, _ products: ReportProducts, month: Int64) {
        guard !row.isFree else { return }
        var figure = SalesFigure(
            SalesFigure.Key(
                day: month, product: products.product(named: row.vendorIdentifier),
                country: row.countryOfSale, currency: row.customerCurrency))
        if row.isRefund || row.partialRefunds != 0 {
            figure.refundedUnits = row.partialRefunds + abs(row.quantity)
            figure.refunded = figure.refundedUnits * abs(row.customerPrice)
        } else {
            figure.units = row.quantity
            figure.gross = row.quantity * row.customerPrice
        }
        let isSameCurrency = row.partnerShareCurrency == row.customerCurrency
        figure.proceeds = isSameCurrency ? row.proceeds : nil
        add(figure)
    }

    /// Adds one of our transactions.
    ///
    /// - Parameter day: converts a moment to a day; nil if that day is not compared.
    mutating func add(_ sale: TransactionSale, day: (Instant) -> Int64?) {
        if let charged = day(sale.chargedAt) {
            if sale.isPurchased {
                add(SalesFigure(soldBy: sale, on: charged))
            } else {
                var figure = SalesFigure(SalesFigure.Key(sale, on: charged))
                figure.sharedUnits = sale.quantity
                add(figure)
            }
        }
        guard sale.refunded > 0, let at = sale.refundedAt.flatMap(day) else { return }
        add(SalesFigure(refundedBy: sale, on: at))
    }
}

import AppStoreFormats
import Ledger

/// The refunds of the items of an Advanced Commerce transaction. Such a transaction does not itself
/// say how much of its price was refunded; its items do (Apple:
/// `Transaction.AdvancedCommerceInfo.Item.refunds`, `revocationDate`).
struct ItemRefunds {
    /// When access to the last of the items was revoked; nil while at least one item is not
    /// revoked. The access of a purchase depends on its product, not on its items, so the purchase
    /// stays open until the last item is revoked.
    let revokedAt: AppStoreDate?
    /// The sum of the refunds, in thousandths of the currency's unit. Nil if there is no refund, or
    /// if the amount of a refund is unknown.
    let amount: Int64?

    /// Reads the refunds of a transaction's items. Returns nil for a transaction without items.
    init?(_ transaction: TransactionPayload) {
        guard let items = transaction.advancedCommerceInfo?.items, !items.isEmpty else {
            return nil
        }
        let dates = items.compactMap(\.revocationDate)
        revokedAt = dates.count == items.count ? dates.max() : nil
        amount = Self.sum(of: items.flatMap { item in item.refundedAmounts })
    }

    private static func sum(of amounts: [Int64?]) -> Int64? {
        guard !amounts.isEmpty else { return nil }
        var sum: Int64 = 0
        for amount in amounts {
            guard let amount, amount >= 0 else { return nil }
            let (more, isTooMuch) = sum.addingReportingOverflow(amount)
            guard !isTooMuch else { return nil }
            sum = more
        }
        return sum
    }

    /// The amount as a share of a price, rounded up, so that ``Percentage/part(_:of:)`` of the
    /// price gives the amount again. Returns nil if the amount or the price is unknown.
    func percentage(of price: Int64?) -> Int64? {
        guard let amount, let price, price > 0 else { return nil }
        guard amount < price else { return Percentage.whole }
        let product = amount.multipliedFullWidth(by: Percentage.whole)
        let (share, rest) = price.dividingFullWidth(product)
        return rest == 0 ? share : share + 1
    }

    /// The rest of a price after the refunds, at least zero.
    func remainder(of price: Int64) -> Int64 {
        guard let amount else { return price }
        return price > amount ? price - amount : 0
    }
}

extension AdvancedCommerceTransactionItem {
    /// The amount of each refund, in thousandths of the currency's unit. If a full refund states no
    /// amount, its amount is the item's price. If any other refund states no amount, the value is
    /// nil.
    fileprivate var refundedAmounts: [Int64?] {
        (refunds ?? []).map { refund in
            refund.refundAmount ?? (refund.refundType == "FULL" ? price : nil)
        }
    }
}

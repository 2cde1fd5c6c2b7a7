/// Shares of a price in thousandths of a percent, which is the unit of Apple's documents.
enum RefundPercentage {
    /// 100 %.
    static let whole: Int64 = 100_000

    /// A percentage of an amount. In 128 bits, as a price of many digits would not fit otherwise.
    static func part(_ percentage: Int64, of amount: Int64) -> Int64 {
        whole.dividingFullWidth(amount.multipliedFullWidth(by: percentage)).quotient
    }

    /// Which percentage of a price an amount is. The price is not 0, and not below the amount.
    static func share(of amount: Int64, in price: Int64) -> Int64 {
        price.dividingFullWidth(amount.multipliedFullWidth(by: whole)).quotient
    }
}

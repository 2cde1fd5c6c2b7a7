/// Shares of a price in thousandths of a percent, which is the unit of Apple's documents.
enum RefundPercentage {
    /// 100 % in thousandths of a percent.
    static let whole: Int64 = 100_000

    /// A percentage of an amount, computed in 128 bits because a product of large numbers does not
    /// fit in 64 bits.
    static func part(_ percentage: Int64, of amount: Int64) -> Int64 {
        whole.dividingFullWidth(amount.multipliedFullWidth(by: percentage)).quotient
    }

    /// The percentage of a price that an amount is. The price must not be 0, and must not be below
    /// the amount.
    static func share(of amount: Int64, in price: Int64) -> Int64 {
        price.dividingFullWidth(amount.multipliedFullWidth(by: whole)).quotient
    }
}

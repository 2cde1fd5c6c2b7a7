import Ledger

/// A number that differs between the two sides, and the reason.
package struct SalesDifference: Hashable, Sendable {
    package var key: SalesFigure.Key
    package var quantity: Quantity
    package var ours: Int64
    package var apples: Int64
    package var cause: Cause

    package enum Quantity: String, Hashable, Sendable, CaseIterable {
        case units
        case gross
        case refundedUnits = "refunded_units"
        case refunded
        case proceeds
        case active
        case trials
        case grace
        case retry

        /// Whether the number is an amount, in thousandths of the currency's unit.
        package var isMoney: Bool {
            switch self {
            case .units, .refundedUnits, .active, .trials, .grace, .retry: false
            case .gross, .refunded, .proceeds: true
            }
        }
    }

    /// Why two numbers differ. Every difference has exactly one cause.
    package enum Cause: String, Hashable, Sendable, CaseIterable {
        /// The App Store's file for the day is still missing.
        case fileMissing = "file_missing"
        /// Every number of the file is twice ours, because it was counted twice.
        case countedTwice = "counted_twice"
        /// The other side has the amount on an adjacent day.
        case dayBoundary = "day_boundary"
        /// The other side has the charge on another day. If a payment was collected in a grace
        /// period, Perennial dates it at the end of the previous period. The App Store dates it at
        /// the moment of collection.
        case chargeOnAnotherDay = "charge_on_another_day"
        /// The other side has the refund on another day.
        case refundOnAnotherDay = "refund_on_another_day"
        /// A refund that was reversed: the App Store has two rows, and we have none.
        case refundReversed = "refund_reversed"
        /// A grace period after a free period: the App Store counts it as grace, we count it as
        /// free.
        case graceAfterTrial = "grace_after_trial"
        /// The App Store counts purchases shared with family members.
        case familySharing = "family_sharing"
        /// Free periods, which one side does not list.
        case freeUnits = "free_units"
        /// A product that we have never seen.
        case unknownProduct = "unknown_product"
        /// A product that we have never seen, in a file about all apps of a developer.
        case otherApp = "other_app"
        /// The file lists the SKUs of items. Their sums belong to products that the file does not
        /// name.
        case itemSKUs = "item_skus"
        /// The App Store sold the product, but never reported the sale to us.
        case notHeardOf = "not_heard_of"
        /// We know the sale, but the file of its day does not contain it.
        case notInFile = "not_in_file"
        /// Both sides have the same units, at different prices.
        case price
        /// Both sides have the same price, but the App Store keeps another share.
        case commission
        /// Both sides have the same price, but different taxes.
        case tax

        /// What the difference means, and what to do.
        package var sentence: String {
            switch self {
            case .fileMissing: "Import the App Store's file for this day."
            case .countedTwice: "The file of this day contains everything twice."
            case .dayBoundary: "The other side has the amount on the day before or after."
            case .chargeOnAnotherDay: "The other side has the charge on another day."
            case .refundOnAnotherDay: "The other side has the refund on another day."
            case .refundReversed: "A refund was reversed. The file has the refund and a new sale."
            case .graceAfterTrial: "A grace period after a free period: we count it as free."
            case .familySharing: "The App Store counts family members, who pay nothing."
            case .freeUnits: "Free periods that only one side lists."
            case .unknownProduct: "No purchase of this product is known. Is it another app's?"
            case .otherApp: "No purchase of this product is known. It is another app's."
            case .itemSKUs: "The file names the purchase's items, Perennial its product."
            case .notHeardOf: "Sold, but not reported to us: check notifications and `checks`."
            case .notInFile: "We know the sale, but the App Store's file does not have it."
            case .price: "Both sides have the same units, at different prices."
            case .commission: "The App Store keeps another share: check `small_business`."
            case .tax: "Another tax is taken out of the price: check `taxes`."
            }
        }
    }

    /// Whether the cause is, or may be, a refund.
    var isOfRefund = false

    /// Apple's number minus ours.
    package var difference: Int64 { apples.subtractingSaturated(ours) }
}

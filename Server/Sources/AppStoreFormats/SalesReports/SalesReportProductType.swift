// The vocabularies of reports that have few words. All are open to new values.

/// What was bought or downloaded ("Product type identifiers" in App Store Connect Help).
package struct SalesReportProductType: OpenEnumeration {
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }

    package static let app = Self(rawValue: "1")
    package static let universalApp = Self(rawValue: "1F")
    package static let iPadApp = Self(rawValue: "1T")
    package static let macApp = Self(rawValue: "F1")
    package static let bundle = Self(rawValue: "1-B")
    package static let macBundle = Self(rawValue: "F1-B")
    package static let redownload = Self(rawValue: "3")
    package static let universalRedownload = Self(rawValue: "3F")
    package static let update = Self(rawValue: "7")
    package static let universalUpdate = Self(rawValue: "7F")
    /// A consumable or a non-consumable was bought.
    package static let inAppPurchase = Self(rawValue: "IA1")
    package static let macInAppPurchase = Self(rawValue: "FI1")
    package static let restoredNonConsumable = Self(rawValue: "IA3")
    package static let nonRenewing = Self(rawValue: "IA9")
    package static let autoRenewable = Self(rawValue: "IAY")
    package static let freeSubscription = Self(rawValue: "IAC")

    /// Whether the product is an auto-renewable subscription. On the Mac, Apple adds `-M` to the
    /// identifiers of in-app purchases.
    package var isAutoRenewable: Bool { ["IAY", "IAY-M"].contains(rawValue) }

    /// Whether the product was sold within an app. False if it was only restored.
    package var isInAppPurchase: Bool {
        let bare = rawValue.hasSuffix("-M") ? String(rawValue.dropLast(2)) : rawValue
        return ["IA1", "FI1", "IA9", "IAY", "IAC"].contains(bare)
    }
}

/// Whether a row of a sales report is about first payments or renewals.
package struct SalesReportSubscription: OpenEnumeration {
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }

    package static let new = Self(rawValue: "New")
    package static let renewal = Self(rawValue: "Renewal")
}

/// An offer. Its spelling differs from report to report: `Pay as you go`, `Free Trial`,
/// `Pay As You Go Intro Offer`.
package struct SalesReportOffer: OpenEnumeration {
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }

    package static let freeTrial = Self(rawValue: "Free Trial")
    package static let payAsYouGo = Self(rawValue: "Pay as you go")
    package static let payUpFront = Self(rawValue: "Pay up front")
    /// A pay-as-you-go introductory offer in the spelling of sales reports.
    package static let payAsYouGoIntroductory = Self(rawValue: "Pay As You Go Intro Offer")

    /// How the offer is paid. Returns nil if the text does not name it.
    package var discount: OfferDiscountType? {
        let name = rawValue.lowercased()
        if name.hasPrefix("free trial") { return .freeTrial }
        if name.hasPrefix("pay as you go") { return .payAsYouGo }
        return name.hasPrefix("pay up front") ? .payUpFront : nil
    }

    /// The kind of offer, which only sales reports name. Returns nil if the text does not name it.
    package var type: OfferType? {
        let name = rawValue.lowercased()
        if name.contains("intro") { return .introductory }
        if name.contains("promo") { return .promotional }
        if name.contains("offer code") { return .code }
        return name.contains("win-back") ? .winBack : nil
    }
}

/// A length of time, such as `7 Days`, `1 Month`, `1 Year`.
package struct SalesReportDuration: OpenEnumeration {
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }

    /// Creates the duration that Apple writes in reports for a period: a week is `7 Days`, two
    /// weeks are `2 Weeks`.
    package init(_ period: BillingPeriod) {
        let isWeek = period == BillingPeriod(1, .week)
        let count = isWeek ? 7 : period.count
        let unit =
            switch period.unit {
            case .day: "Day"
            case .week: isWeek ? "Day" : "Week"
            case .month: "Month"
            case .year: "Year"
            }
        rawValue = "\(count) \(unit)\(count == 1 ? "" : "s")"
    }

    /// The period that the duration names. Returns nil for a text of another form. `7 Days` is one
    /// week.
    package var period: BillingPeriod? {
        let words = rawValue.split(separator: " ")
        guard words.count == 2, let count = Int(words[0]),
            (1...BillingPeriod.countMax).contains(count)
        else { return nil }
        switch words[1] {
        case "Day", "Days":
            return count == 7 ? BillingPeriod(1, .week) : BillingPeriod(count, .day)
        case "Week", "Weeks": return BillingPeriod(count, .week)
        case "Month", "Months": return BillingPeriod(count, .month)
        case "Year", "Years": return BillingPeriod(count, .year)
        default: return nil
        }
    }
}

/// Why a subscription was canceled.
package struct SalesReportCancellationReason: OpenEnumeration {
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }

    package static let billingIssue = Self(rawValue: "Billing issue")
    package static let priceIncrease = Self(rawValue: "Price increase")
    package static let canceled = Self(rawValue: "Canceled")
    package static let removedFromSale = Self(rawValue: "Removed from Sale")
    package static let other = Self(rawValue: "Other")
}

/// Why the proceeds are higher than usual. The rate of the App Store Small Business Program has no
/// name in reports: only the amounts show it.
package struct SalesReportProceedsReason: OpenEnumeration {
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }

    /// The developer gets 85 percent, because the subscriber has paid for a year.
    package static let rateAfterOneYear = Self(rawValue: "Rate After One Year")
}

/// The device on which a purchase was made.
package struct SalesReportDevice: OpenEnumeration {
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }

    package static let iPhone = Self(rawValue: "iPhone")
    package static let iPad = Self(rawValue: "iPad")
    package static let iPodTouch = Self(rawValue: "iPod touch")
    package static let desktop = Self(rawValue: "Desktop")
    package static let appleTV = Self(rawValue: "Apple TV")
    package static let appleVision = Self(rawValue: "Apple Vision")
}

/// Whether a row of a financial report is a sale or a refund.
package struct SalesReportDirection: OpenEnumeration {
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }

    package static let sale = Self(rawValue: "S")
    package static let `return` = Self(rawValue: "R")
}

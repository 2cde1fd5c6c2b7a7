import AppStoreFormats
import Ledger
import Reports
import Storage

/// Transactions in the columns of RevenueCat's scheduled data export, version 5. Software that
/// reads RevenueCat's files can also read this export. There is one row for each transaction.
package struct RevenueCatExport: Sendable {
    package static let columns = [
        "rc_original_app_user_id", "rc_last_seen_app_user_id_alias", "country", "country_source",
        "product_identifier", "product_display_name", "product_duration", "start_time", "end_time",
        "grace_period_end_time", "effective_end_time", "store", "is_auto_renewable",
        "is_trial_period", "is_in_intro_offer_period", "is_sandbox", "price_in_usd",
        "purchase_price_in_usd", "takehome_percentage", "tax_percentage", "commission_percentage",
        "store_transaction_id", "original_store_transaction_id", "refunded_at",
        "unsubscribe_detected_at", "billing_issues_detected_at", "purchased_currency",
        "price_in_purchased_currency", "purchase_price_in_purchased_currency",
        "entitlement_identifiers", "renewal_number", "is_trial_conversion", "presented_offering",
        "ownership_type", "reserved_subscriber_attributes", "custom_subscriber_attributes",
        "platform", "experiment_id", "experiment_variant", "updated_at", "offer", "offer_type",
        "first_seen_time", "auto_resume_time",
    ]

    private let app: AppSettings

    init(_ app: AppSettings) { self.app = app }

    /// The values of a transaction, in the order of ``columns``.
    ///
    /// - Parameter attributes: the attributes of the transaction's customer.
    func values(
        of sold: SoldTransaction, _ attributes: [CustomerAttribute]
    ) -> [ExportedValue] {
        customer(of: sold) + product(of: sold) + times(of: sold) + kind(of: sold)
            + dollars(of: sold) + shares(of: sold) + numbers(of: sold) + news(of: sold)
            + amounts(of: sold) + rights(of: sold) + details(attributes) + rest(of: sold)
    }

    private func customer(of sold: SoldTransaction) -> [ExportedValue] {
        let country = sold.segment.storefront.map { CountryCode.twoLetters(of: $0) ?? $0 }
        return [
            .text(sold.customer?.rawValue), .text((sold.lastID ?? sold.customer)?.rawValue),
            .text(country), .text(country == nil ? nil : "from_sdk"),
        ]
    }

    private func product(of sold: SoldTransaction) -> [ExportedValue] {
        [.text(sold.segment.product.rawValue), .none, .text(sold.duration)]
    }

    /// The times of a transaction. The end of a transaction is the end of the period or of the
    /// grace period, whichever is later. A refund or a replacement ends the transaction earlier.
    private func times(of sold: SoldTransaction) -> [ExportedValue] {
        let end = sold.until.map { until in max(until, sold.graceUntil ?? until) }
        let isCut = sold.endedAt.flatMap { ended in sold.until.map { ended < $0 } } ?? false
        return [
            .moment(sold.from), .moment(sold.until), .moment(sold.graceUntil),
            .moment(isCut ? sold.endedAt : end),
        ]
    }

    private func kind(of sold: SoldTransaction) -> [ExportedValue] {
        [
            .text("app_store"), .flag(sold.isSubscription), .flag(sold.terms == .trial),
            .flag(sold.isSubscription && sold.terms == .offer),
            .flag(sold.purchase.environment == .sandbox),
        ]
    }

    /// The net and the gross amount in US dollars, at the rates of the day of the purchase. Empty
    /// if no rates are configured for the currency.
    private func dollars(of sold: SoldTransaction) -> [ExportedValue] {
        guard let currency = sold.segment.price?.currency else { return sold.withoutPrice }
        return [sold.gross - sold.refunded, sold.gross].map { amount in
            let money = Money(milliunits: amount, currency: currency)
            return .text(app.money.dollars(for: money, at: sold.from).map(Self.decimal))
        }
    }

    private func shares(of sold: SoldTransaction) -> [ExportedValue] {
        guard sold.gross > 0 else { return [.none, .none, .none] }
        return [sold.gross - sold.tax - sold.commission, sold.tax, sold.commission].map {
            .text(Self.share($0, of: sold.gross))
        }
    }

    private func numbers(of sold: SoldTransaction) -> [ExportedValue] {
        [.text(sold.transaction.rawValue), .text(sold.purchase.original.rawValue)]
    }

    private func news(of sold: SoldTransaction) -> [ExportedValue] {
        // The customer switched renewal on again before the end.
        let isOnAgain =
            if let on = sold.renewalOnAt, let off = sold.renewalOffAt {
                on > off && on < (sold.endedAt ?? on)
            } else {
                false
            }
        return [
            .moment(sold.refundedAt), .moment(isOnAgain ? nil : sold.renewalOffAt),
            .moment(sold.troubleAt),
        ]
    }

    private func amounts(of sold: SoldTransaction) -> [ExportedValue] {
        guard let currency = sold.segment.price?.currency else {
            return [.none] + sold.withoutPrice
        }
        return [
            .text(currency), .text(Self.decimal(sold.gross - sold.refunded)),
            .text(Self.decimal(sold.gross)),
        ]
    }

    private func rights(of sold: SoldTransaction) -> [ExportedValue] {
        let rights = app.entitlements.filter { $0.value.contains(sold.segment.product) }.keys
            .map { "\"\($0.rawValue)\"" }.sorted()
        return [
            .text("[\(rights.joined(separator: ", "))]"),
            sold.number.map { .number(Int64($0)) } ?? .none, .flag(sold.isConversion),
            .text(sold.placement),
            .text(sold.ownership == "family_shared" ? "FAMILY_SHARED" : "PURCHASED"),
        ]
    }

    private func details(_ attributes: [CustomerAttribute]) -> [ExportedValue] {
        [true, false].map { isReserved in
            let members = attributes.compactMap { attribute -> JSON.Member? in
                guard attribute.isReserved == isReserved, let value = attribute.value else {
                    return nil
                }
                return JSON.Member(
                    attribute.name,
                    [
                        "value": .string(value),
                        "updated_at_ms": .integer(attribute.updatedAt.milliseconds),
                    ])
            }
            return .text(JSON.object(members).text)
        }
    }

    private func rest(of sold: SoldTransaction) -> [ExportedValue] {
        [
            .text("ios"), .none, .none,
            .moment(sold.changedAt ?? sold.from), .text(sold.segment.offer?.id),
            .text(sold.segment.offer?.kind.word), .moment(sold.firstSeenAt), .none,
        ]
    }

    /// The amount as text, such as `9.99`, with a third decimal place only if it is not zero.
    private static func decimal(_ milliunits: Int64) -> String {
        let (units, rest) = milliunits.magnitude.quotientAndRemainder(dividingBy: 1000)
        let digits = "\(rest + 1000)".dropFirst()
        let sign = milliunits < 0 ? "-" : ""
        return sign + "\(units).\(rest % 10 == 0 ? digits.prefix(2) : digits)"
    }

    /// A share with four digits after the point, such as `0.3000`.
    private static func share(_ part: Int64, of whole: Int64) -> String {
        let tenThousandths = Int64((Double(part) / Double(whole) * 10_000).rounded())
        let digits = "\(tenThousandths % 10_000)"
        let zeros = String(repeating: "0", count: 4 - digits.count)
        return "\(tenThousandths / 10_000).\(zeros)\(digits)"
    }
}

extension ReportingService {
    /// Calls a closure with the values of every transaction, in RevenueCat's columns.
    ///
    /// - Parameter since: leaves out transactions whose purchase and refund are earlier.
    package func exportForRevenueCat(
        of appID: AppID, in environment: Environment, since: Instant?,
        _ body: ([ExportedValue]) throws -> Void
    ) async throws {
        let (app, _) = try context.app(appID)
        let export = RevenueCatExport(app)
        var last: String? = ""
        while let begin = last {
            let (transactions, end, attributes) = try await context.scanForReport { tx in
                let (transactions, end) = try tx.sales.transactions(
                    in: appID, environment, after: begin, since: since)
                let customers = Set(transactions.compactMap(\.customer))
                return (transactions, end, try tx.attributes.all(of: customers, in: appID))
            }
            for sold in transactions {
                let own = sold.customer.flatMap { attributes[$0] }
                try body(export.values(of: sold, own ?? []))
            }
            last = end
        }
    }
}

extension SoldTransaction {
    fileprivate var isSubscription: Bool {
        kind == "auto_renewable" || kind == "unknown" && until != nil
    }

    /// The net and the gross amount of a transaction whose documents contain no price: zero if it
    /// certainly cost nothing, otherwise empty.
    fileprivate var withoutPrice: [ExportedValue] {
        let isFree = terms == .trial || ownership != "purchased"
        return isFree ? [.text("0.00"), .text("0.00")] : [.none, .none]
    }

    /// The length of the period, such as `P1M`. Nil if the period has no end, or an unusual length.
    fileprivate var duration: String? {
        guard let until else { return nil }
        let days = (until.milliseconds - from.milliseconds + 43_200_000) / 86_400_000
        switch days {
        case 3: return "P3D"
        case 7: return "P1W"
        case 14: return "P2W"
        case 28...31: return "P1M"
        case 59...62: return "P2M"
        case 89...92: return "P3M"
        case 181...184: return "P6M"
        case 365...366: return "P1Y"
        default: return nil
        }
    }
}

extension ExportedValue {
    fileprivate static func text(_ text: String?) -> Self { text.map { .text($0) } ?? .none }

    fileprivate static func flag(_ flag: Bool) -> Self { .text(flag ? "true" : "false") }

    /// A time in UTC, such as `2026-11-21 08:30:00.000`.
    fileprivate static func moment(_ moment: Instant?) -> Self {
        .text(
            moment.map { $0.description.replacing("T", with: " ").replacing("Z", with: "") })
    }
}

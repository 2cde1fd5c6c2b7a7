import AppStoreClient
import Ledger
import Storage

/// The result of a request to extend a renewal date.
package enum RenewalExtensionOutcome: Hashable, Sendable {
    case extended
    /// The customer has no subscription of their own with this transaction.
    case unknownSubscription
    /// The configuration has no key for the App Store.
    case notConfigured
    /// The App Store refuses the request, for this reason.
    case refused(String)
    /// The App Store did not respond. It is not known whether it has extended the date.
    case noResponse(String, until: Instant?)
}

/// Extends renewal dates of subscriptions, which only the App Store can do.
package struct RenewalExtensionService: Sendable {
    let context: Context
    let customers: CustomerService
    let reconciliation: ReconciliationService

    /// How many days one extension may have.
    package static let daysRange = RenewalExtension.daysRange
    /// Apple's numbers of reasons: 0 undeclared, 1 satisfaction, 2 another, 3 an outage.
    package static let reasonRange = 0...3
    /// The number of hexadecimal digits of the id by which Apple knows a request.
    private static let requestIDDigits = 32

    /// Lets the App Store extend the renewal date of a customer's subscription, and then checks the
    /// subscription, so that the new date is known at once.
    ///
    /// - Parameters:
    ///   - transaction: any transaction of the subscription.
    ///   - days: within ``daysRange``.
    ///   - reason: within ``reasonRange``.
    ///   - key: an idempotency key. The App Store gets the same id of the request for the same key,
    ///     customer, transaction and days. The App Store extends a repeated request again.
    package func extend(
        _ transaction: TransactionID, of id: CustomerID, days: Int, reason: Int, key: String?,
        app: AppID, environment: Environment
    ) async throws(EngineFailure) -> RenewalExtensionOutcome {
        precondition(Self.daysRange.contains(days), "an extension has 1 to 90 days")
        guard let reason = RenewalExtension.Reason(rawValue: Int64(reason)) else {
            preconditionFailure("a reason is a number of Apple's")
        }
        let state = try await customers.find(id, app: app, environment: environment)
        guard let purchase = state.subscription(with: transaction) else {
            return .unknownSubscription
        }
        guard let client = context.reconciliationSettings.appStore(app) else {
            return .notConfigured
        }
        let wish = RenewalExtension(
            days: days, reason: reason,
            requestID: Self.requestID(key, for: transaction, of: id, days: days))
        do throws(AppStoreFailure) {
            _ = try await client.extend(
                purchase.original.rawValue, by: wish, in: purchase.storeEnvironment)
        } catch {
            return RenewalExtensionOutcome(error)
        }
        // The date is extended, whatever the check finds. If the check fails, the new date arrives
        // with Apple's notification.
        do { try await reconciliation.reconcileAndWait(about: purchase, in: app) } catch {
            context.logger.warning(
                "the check after an extension failed", metadata: ["error": "\(error)"])
        }
        return .extended
    }
}

extension RenewalExtensionService {
    /// The id by which Apple knows a request. Without an idempotency key, the id is random.
    package static func requestID(
        _ key: String?, for transaction: TransactionID, of id: CustomerID, days: Int
    ) -> String {
        IdempotencyKey.digits(
            for: key.map { "renewal extension\n\(id)\n\(transaction)\n\(days)\n\($0)" },
            count: requestIDDigits)
    }
}

extension RenewalExtensionOutcome {
    fileprivate init(_ failure: AppStoreFailure) {
        switch failure {
        case .refused, .unknownID, .unauthorized:
            self = .refused("\(failure) \(failure.remedy)")
        case .rateLimited(let until): self = .noResponse("\(failure)", until: Instant(until))
        case .unavailable, .unreadable: self = .noResponse("\(failure)", until: nil)
        }
    }
}

extension CustomerState {
    /// The customer's own subscription that contains a transaction.
    fileprivate func subscription(with transaction: TransactionID) -> PurchaseID? {
        purchases.first { purchase in
            purchase.isOwn && purchase.timeline.seat == nil
                && purchase.timeline.copies.contains { copy in
                    copy.payment.kind == .autoRenewable
                        && (copy.payment.transaction == transaction
                            || purchase.timeline.purchase.original == transaction)
                }
        }?.timeline.purchase
    }
}

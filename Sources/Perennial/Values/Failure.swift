internal import Foundation

extension Perennial {
    /// Why a call failed: for programs, for developers, and for customers.
    public struct Failure: Error, Hashable, Sendable {
        /// The code, for programs. A code never changes its meaning.
        public var code: Code
        /// What the developer can do about the failure.
        public var remedy: String
        /// The id of the request in the server's log. Nil if no request failed.
        public var requestID: String?
        /// Whether the same call may succeed later.
        public var isTemporary: Bool
        /// Whether the customer may have been charged. Only failures of purchases have another
        /// value than ``Charged/no``.
        public var charged: Charged

        public init(
            _ code: Code, remedy: String, requestID: String? = nil, isTemporary: Bool = false,
            charged: Charged = .no
        ) {
            self.code = code
            self.remedy = remedy
            self.requestID = requestID
            self.isTemporary = isTemporary
            self.charged = charged
        }

        /// The codes of the server (`docs/api.md`), and the codes of the SDK below.
        public struct Code: RawRepresentable, Hashable, Sendable, ExpressibleByStringLiteral {
            public let rawValue: String
            public init(rawValue: String) { self.rawValue = rawValue }
            public init(stringLiteral value: String) { rawValue = value }

            /// The server did not answer in time, or answered that it cannot work now.
            public static let serverUnreachable = Self(rawValue: "server_unreachable")
            /// The answer is not of a Perennial server, but for example of a proxy, or of a network
            /// that wants a log-in.
            public static let serverAnswerNotUnderstood =
                Self(rawValue: "server_answer_not_understood")
            /// The App Store cannot be reached.
            public static let storeUnreachable = Self(rawValue: "store_unreachable")
            /// StoreKit has reported an error. The remedy names it.
            public static let storeFailed = Self(rawValue: "store_failed")
            /// The App Store does not sell a product with this id in this country.
            public static let productUnknown = Self(rawValue: "product_unknown")
            /// The server's configuration has no placement of this name.
            public static let placementUnknown = Self(rawValue: "placement_unknown")
            /// Purchases are switched off on this device.
            public static let purchaseNotAllowed = Self(rawValue: "purchase_not_allowed")
            /// The App Store did not accept the offer, for example because of its signature.
            public static let offerNotAccepted = Self(rawValue: "offer_not_accepted")
            /// The product is not sold in seats, or this version of the system cannot sell it in
            /// seats.
            public static let seatsNotSold = Self(rawValue: "seats_not_sold")
            /// The subscription already has this number of seats.
            public static let seatsUnchanged = Self(rawValue: "seats_unchanged")
            /// A purchase cannot reduce the number of seats.
            public static let seatReductionNotAllowed =
                Self(rawValue: "seat_reduction_not_allowed")
            public static let seatsNotPositive = Self(rawValue: "seats_not_positive")
            /// StoreKit could not verify the signature of the transaction.
            public static let purchaseNotVerified = Self(rawValue: "purchase_not_verified")
            /// StoreKit returned a result that this version of the SDK does not know.
            public static let purchaseResultUnknown = Self(rawValue: "purchase_result_unknown")
            /// The store returned a transaction of another product, or a transaction whose period
            /// has ended.
            public static let purchaseReturnedAnother = Self(rawValue: "purchase_returned_another")
            public static let storeAccountOfAnother = Self(rawValue: "store_account_of_another")
            /// No customer has signed in, and anonymous customers are not allowed.
            public static let customerMissing = Self(rawValue: "customer_missing")
            /// The id is empty or too long, or is one that many people would share, such as `null`.
            public static let customerIDNotValid = Self(rawValue: "customer_id_not_valid")
            /// Another customer has signed in since the call began.
            public static let customerChanged = Self(rawValue: "customer_changed")
            /// The restore would now have a different result from the one in the preview.
            public static let previewOutdated = Self(rawValue: "preview_outdated")
            public static let walletBalanceTooLow = Self(rawValue: "wallet_balance_too_low")
            public static let spendingNotAllowed = Self(rawValue: "spending_not_allowed")
            /// The name or the value of an attribute breaks a rule. The remedy names the rule.
            public static let attributeNotValid = Self(rawValue: "attribute_not_valid")
            /// Too many changes of attributes wait for the server.
            public static let attributesFull = Self(rawValue: "attributes_full")
            /// This device cannot save attributes now.
            public static let attributesNotSaved = Self(rawValue: "attributes_not_saved")
            /// This process, for example an extension, only reads what the app has written. So the
            /// process cannot spend.
            public static let readOnly = Self(rawValue: "read_only")
            /// An SDK in the role `observer` sells nothing.
            public static let observing = Self(rawValue: "observing")
        }

        /// Whether the customer may have been charged.
        public struct Charged: RawRepresentable, Hashable, Sendable {
            public let rawValue: String
            public init(rawValue: String) { self.rawValue = rawValue }

            public static let no = Self(rawValue: "no")
            /// The customer was charged, and the purchase is saved on this device or in the store.
            public static let yes = Self(rawValue: "yes")
            /// It is not known yet whether the customer was charged. A purchase that was charged
            /// arrives later without another call.
            public static let unclear = Self(rawValue: "unclear")
        }
    }
}

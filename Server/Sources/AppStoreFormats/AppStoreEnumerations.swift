// Apple's enumerations, open to new values. The names are those of Apple's documentation of
// November 2026.

package struct StoreEnvironment: OpenEnumeration {
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }

    package static let production = Self(rawValue: "Production")
    package static let sandbox = Self(rawValue: "Sandbox")
    /// A document of this environment is signed by Xcode with its own certificate, so it proves
    /// nothing.
    package static let xcode = Self(rawValue: "Xcode")
    /// A document of this environment is not signed, so it proves nothing.
    package static let localTesting = Self(rawValue: "LocalTesting")
}

package struct ProductType: OpenEnumeration {
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }

    package static let autoRenewable = Self(rawValue: "Auto-Renewable Subscription")
    package static let nonConsumable = Self(rawValue: "Non-Consumable")
    package static let consumable = Self(rawValue: "Consumable")
    package static let nonRenewing = Self(rawValue: "Non-Renewing Subscription")
}

package struct OwnershipType: OpenEnumeration {
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }

    package static let purchased = Self(rawValue: "PURCHASED")
    package static let familyShared = Self(rawValue: "FAMILY_SHARED")
    package static let assigned = Self(rawValue: "ASSIGNED")
}

package struct RevocationType: OpenEnumeration {
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }

    package static let refundFull = Self(rawValue: "REFUND_FULL")
    package static let refundProrated = Self(rawValue: "REFUND_PRORATED")
    package static let familyRevoke = Self(rawValue: "FAMILY_REVOKE")
    package static let assignmentRevoke = Self(rawValue: "ASSIGNMENT_REVOKE")
}

package struct RevocationReason: OpenEnumeration {
    package let rawValue: Int64
    package init(rawValue: Int64) { self.rawValue = rawValue }

    package static let other = Self(rawValue: 0)
    package static let issueWithTheApp = Self(rawValue: 1)
}

package struct OfferType: OpenEnumeration {
    package let rawValue: Int64
    package init(rawValue: Int64) { self.rawValue = rawValue }

    package static let introductory = Self(rawValue: 1)
    package static let promotional = Self(rawValue: 2)
    package static let code = Self(rawValue: 3)
    package static let winBack = Self(rawValue: 4)
    package static let retention = Self(rawValue: 5)
}

package struct OfferDiscountType: OpenEnumeration {
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }

    package static let freeTrial = Self(rawValue: "FREE_TRIAL")
    package static let payAsYouGo = Self(rawValue: "PAY_AS_YOU_GO")
    package static let payUpFront = Self(rawValue: "PAY_UP_FRONT")
    package static let oneTime = Self(rawValue: "ONE_TIME")
}

package struct TransactionReason: OpenEnumeration {
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }

    package static let purchase = Self(rawValue: "PURCHASE")
    package static let renewal = Self(rawValue: "RENEWAL")
}

package struct BillingPlanType: OpenEnumeration {
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }

    package static let billedUpfront = Self(rawValue: "BILLED_UPFRONT")
    package static let monthly = Self(rawValue: "MONTHLY")
}

package struct AutoRenewStatus: OpenEnumeration {
    package let rawValue: Int64
    package init(rawValue: Int64) { self.rawValue = rawValue }

    package static let off = Self(rawValue: 0)
    package static let on = Self(rawValue: 1)
}

package struct ExpirationIntent: OpenEnumeration {
    package let rawValue: Int64
    package init(rawValue: Int64) { self.rawValue = rawValue }

    package static let cancelled = Self(rawValue: 1)
    package static let billingError = Self(rawValue: 2)
    package static let noConsentToPriceIncrease = Self(rawValue: 3)
    package static let productUnavailable = Self(rawValue: 4)
    package static let other = Self(rawValue: 5)
}

package struct PriceIncreaseStatus: OpenEnumeration {
    package let rawValue: Int64
    package init(rawValue: Int64) { self.rawValue = rawValue }

    package static let notAnswered = Self(rawValue: 0)
    package static let agreed = Self(rawValue: 1)
}

/// The status of a subscription in a notification or a status response.
package struct SubscriptionStatus: OpenEnumeration {
    package let rawValue: Int64
    package init(rawValue: Int64) { self.rawValue = rawValue }

    package static let active = Self(rawValue: 1)
    package static let expired = Self(rawValue: 2)
    package static let billingRetry = Self(rawValue: 3)
    package static let gracePeriod = Self(rawValue: 4)
    package static let revoked = Self(rawValue: 5)
}

package struct ConsumptionRequestReason: OpenEnumeration {
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }

    package static let unintendedPurchase = Self(rawValue: "UNINTENDED_PURCHASE")
    package static let fulfillmentIssue = Self(rawValue: "FULFILLMENT_ISSUE")
    package static let unsatisfiedWithPurchase = Self(rawValue: "UNSATISFIED_WITH_PURCHASE")
    package static let legal = Self(rawValue: "LEGAL")
    package static let other = Self(rawValue: "OTHER")
}

package struct OriginalPlatform: OpenEnumeration {
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }

    package static let iOS = Self(rawValue: "iOS")
    package static let macOS = Self(rawValue: "macOS")
    package static let tvOS = Self(rawValue: "tvOS")
    package static let visionOS = Self(rawValue: "visionOS")
}

/// Who manages the invitations to the group of a purchase of several seats.
package struct InvitationManagement: OpenEnumeration {
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }

    package static let apple = Self(rawValue: "APPLE")
    package static let developer = Self(rawValue: "DEVELOPER")
}

/// Why a period has several transactions.
package struct AdditionalTransactionReason: OpenEnumeration {
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }

    package static let seatAddition = Self(rawValue: "SEAT_ADDITION")
}

package struct NotificationType: OpenEnumeration {
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }

    package static let consumptionRequest = Self(rawValue: "CONSUMPTION_REQUEST")
    package static let didChangeRenewalPref = Self(rawValue: "DID_CHANGE_RENEWAL_PREF")
    package static let didChangeRenewalStatus = Self(rawValue: "DID_CHANGE_RENEWAL_STATUS")
    package static let didFailToRenew = Self(rawValue: "DID_FAIL_TO_RENEW")
    package static let didRenew = Self(rawValue: "DID_RENEW")
    package static let expired = Self(rawValue: "EXPIRED")
    package static let externalPurchaseToken = Self(rawValue: "EXTERNAL_PURCHASE_TOKEN")
    package static let gracePeriodExpired = Self(rawValue: "GRACE_PERIOD_EXPIRED")
    package static let metadataUpdate = Self(rawValue: "METADATA_UPDATE")
    /// Apple's change log also writes `MIGRATE`.
    package static let migration = Self(rawValue: "MIGRATION")
    package static let offerRedeemed = Self(rawValue: "OFFER_REDEEMED")
    package static let oneTimeCharge = Self(rawValue: "ONE_TIME_CHARGE")
    package static let priceChange = Self(rawValue: "PRICE_CHANGE")
    package static let priceIncrease = Self(rawValue: "PRICE_INCREASE")
    package static let refund = Self(rawValue: "REFUND")
    package static let refundDeclined = Self(rawValue: "REFUND_DECLINED")
    package static let refundReversed = Self(rawValue: "REFUND_REVERSED")
    package static let renewalExtended = Self(rawValue: "RENEWAL_EXTENDED")
    package static let renewalExtension = Self(rawValue: "RENEWAL_EXTENSION")
    package static let rescindConsent = Self(rawValue: "RESCIND_CONSENT")
    package static let revoke = Self(rawValue: "REVOKE")
    package static let subscribed = Self(rawValue: "SUBSCRIBED")
    package static let test = Self(rawValue: "TEST")
    package static let unclaimSeats = Self(rawValue: "UNCLAIM_SEATS")
}

package struct NotificationSubtype: OpenEnumeration {
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }

    package static let accepted = Self(rawValue: "ACCEPTED")
    package static let activeTokenReminder = Self(rawValue: "ACTIVE_TOKEN_REMINDER")
    package static let autoRenewDisabled = Self(rawValue: "AUTO_RENEW_DISABLED")
    package static let autoRenewEnabled = Self(rawValue: "AUTO_RENEW_ENABLED")
    package static let billingRecovery = Self(rawValue: "BILLING_RECOVERY")
    package static let billingRetry = Self(rawValue: "BILLING_RETRY")
    package static let created = Self(rawValue: "CREATED")
    package static let decreaseQuantity = Self(rawValue: "DECREASE_QUANTITY")
    package static let downgrade = Self(rawValue: "DOWNGRADE")
    package static let failure = Self(rawValue: "FAILURE")
    package static let gracePeriod = Self(rawValue: "GRACE_PERIOD")
    package static let increaseQuantity = Self(rawValue: "INCREASE_QUANTITY")
    package static let initialBuy = Self(rawValue: "INITIAL_BUY")
    package static let pending = Self(rawValue: "PENDING")
    package static let priceIncrease = Self(rawValue: "PRICE_INCREASE")
    package static let productNotForSale = Self(rawValue: "PRODUCT_NOT_FOR_SALE")
    package static let resubscribe = Self(rawValue: "RESUBSCRIBE")
    package static let seats = Self(rawValue: "SEATS")
    package static let summary = Self(rawValue: "SUMMARY")
    package static let unreported = Self(rawValue: "UNREPORTED")
    package static let upgrade = Self(rawValue: "UPGRADE")
    package static let voluntary = Self(rawValue: "VOLUNTARY")
}

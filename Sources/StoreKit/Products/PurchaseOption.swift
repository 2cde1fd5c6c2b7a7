extension Product {
    public struct PurchaseOption: Equatable, Hashable, Sendable {
        enum Kind: Equatable, Hashable, Sendable {
            case appAccountToken(UUID)
            /// A custom value, which Apple passes only to the app's own tests.
            case custom(key: String, value: String)
            case quantity(Int)
            /// The total number of seats after the purchase.
            case seats(Int)
            case invitationSheetSuppressed(Bool)
            case asksToBuy(Bool)
            /// An offer that needs no signature. The id is set for a win-back offer, and nil for
            /// other offers.
            case winBack(id: String?)
            case signedOffer(id: String, jws: String)
            case offerSignature(id: String, Product.SubscriptionOffer.Signature)
            case introductoryEligibility(jws: String)
            case billingPlan(String)
            case onStorefrontChange(StorefrontQuestion)
        }

        let kind: Kind

        private init(_ kind: Kind) { self.kind = kind }

        public static func appAccountToken(_ token: UUID) -> Self { Self(.appAccountToken(token)) }

        public static func custom(key: String, value: String) -> Self {
            Self(.custom(key: key, value: value))
        }

        public static func custom(key: String, value: Double) -> Self {
            Self(.custom(key: key, value: "\(value)"))
        }

        public static func custom(key: String, value: Bool) -> Self {
            Self(.custom(key: key, value: "\(value)"))
        }

        public static func custom(key: String, value: Data) -> Self {
            Self(.custom(key: key, value: value.base64EncodedString()))
        }

        /// Calls the closure if the product is from a storefront other than the present one. If the
        /// closure returns false, the purchase fails.
        @preconcurrency public static func onStorefrontChange(
            shouldContinuePurchase: @escaping @Sendable (Storefront) -> Bool
        ) -> Self {
            Self(.onStorefrontChange(StorefrontQuestion(ask: shouldContinuePurchase)))
        }

        public static func promotionalOffer(
            offerID: String, keyID: String, nonce: UUID, signature: Data, timestamp: Int
        ) -> Self {
            promotionalOffer(
                offerID: offerID,
                signature: Product.SubscriptionOffer.Signature(
                    keyID: keyID, nonce: nonce, timestamp: timestamp, signature: signature))
        }

        public static func promotionalOffer(
            offerID: String, signature: Product.SubscriptionOffer.Signature
        ) -> Self {
            Self(.offerSignature(id: offerID, signature))
        }

        public static func promotionalOffer(
            _ offerID: String, compactJWS: String
        ) -> [Product.PurchaseOption] {
            [Self(.signedOffer(id: offerID, jws: compactJWS))]
        }

        public static func quantity(_ quantity: Int) -> Self { Self(.quantity(quantity)) }

        /// - Parameter targetSeatQuantity: the total number of seats after the purchase. To add 4
        ///   seats to 8 seats, pass 12.
        public static func seats(_ targetSeatQuantity: Int) -> Self {
            Self(.seats(targetSeatQuantity))
        }

        /// Has no effect here. Apple's option suppresses the sheet for invitations after a purchase
        /// of seats, but the simulator has no such sheet.
        public static func multiSeatInvitationSheetSuppressed(_ isSuppressed: Bool) -> Self {
            Self(.invitationSheetSuppressed(isSuppressed))
        }

        public static func simulatesAskToBuyInSandbox(_ simulateAskToBuy: Bool) -> Self {
            Self(.asksToBuy(simulateAskToBuy))
        }

        public static func winBackOffer(_ offer: Product.SubscriptionOffer) -> Self {
            Self(.winBack(id: offer.type == .winBack ? offer.id : nil))
        }

        public static func introductoryOfferEligibility(compactJWS: String) -> Self {
            Self(.introductoryEligibility(jws: compactJWS))
        }

        public static func billingPlanType(
            _ billingPlanType: Product.SubscriptionInfo.BillingPlanType
        ) -> Self {
            Self(.billingPlan(billingPlanType.rawValue))
        }
    }
}

extension Product.PurchaseOption: CustomDebugStringConvertible {
    public var debugDescription: String { "\(kind)" }
}

/// The app's closure for a changed storefront. All values compare as equal, so that a set contains
/// only one of them.
struct StorefrontQuestion: Equatable, Hashable, Sendable {
    let ask: @Sendable (Storefront) -> Bool

    static func == (left: Self, right: Self) -> Bool { true }

    func hash(into hasher: inout Hasher) {}
}

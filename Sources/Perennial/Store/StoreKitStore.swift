internal import Foundation
internal import StoreKit

/// The App Store through StoreKit 2. The type converts StoreKit's values, and decides nothing.
package struct StoreKitStore: DeviceStore {
    package init() {}

    package func products(_ ids: [String]) async throws(StoreError) -> [StoreProduct] {
        // StoreKit answers a cancelled task with an empty list. An unstructured task is not
        // cancelled with its parent.
        let reading = Task {
            try await StoreKit.Product.products(for: ids).map { StoreProduct($0) }
        }
        do { return try await reading.value } catch { throw StoreError(error) }
    }

    package func purchase(
        _ product: String, _ options: StorePurchaseOptions, anchor: PurchaseAnchor?
    ) async throws(StoreError) -> StorePurchaseResult {
        do {
            guard let product = try await StoreKit.Product.products(for: [product]).first else {
                throw StoreError.productUnavailable
            }
            let options = try options.make(for: product)
            let result =
                if let anchor { try await anchor.buy(product, options) } else {
                    try await product.purchase(options: options)
                }
            return StorePurchaseResult(result)
        } catch {
            throw StoreError(error)
        }
    }

    package func documents(_ list: StoreList) async -> [StoreDocument]? {
        // The list is read in a separate task, because StoreKit answers a cancelled task with an
        // empty list.
        let reading = Task {
            var documents: [StoreDocument] = []
            switch list {
            case .entitlements:
                for await result in Transaction.currentEntitlements {
                    documents.append(StoreDocument(result))
                }
            case .unfinished:
                for await result in Transaction.unfinished {
                    documents.append(StoreDocument(result))
                }
            case .all:
                for await result in Transaction.all { documents.append(StoreDocument(result)) }
            }
            return documents
        }
        let documents = await reading.value
        return Task.isCancelled ? nil : documents
    }

    package func renewals(of groups: Set<String>) async -> [StoreRenewal]? {
        let reading = Task {
            var renewals: [StoreRenewal] = []
            for group in groups.sorted() {
                for status in try await StoreKit.Product.SubscriptionInfo.status(for: group) {
                    renewals.append(StoreRenewal(status))
                }
            }
            return renewals
        }
        return try? await reading.value
    }

    package func isEligibleForIntroductoryOffer(group: String) async -> Bool {
        await Task {
            await StoreKit.Product.SubscriptionInfo.isEligibleForIntroOffer(for: group)
        }.value
    }

    package func finish(_ documents: [StoreDocument]) async {
        // Transactions are compared by id, because StoreKit may have signed them again.
        var ids = Set(documents.compactMap { TransactionPayload($0)?.transactionId })
        for await result in Transaction.unfinished
        where ids.remove(String(result.unsafePayloadValue.id)) != nil {
            await result.unsafePayloadValue.finish()
            if ids.isEmpty { return }
        }
    }

    package func sync() async throws(StoreError) {
        do { try await AppStore.sync() } catch { throw StoreError(error) }
    }

    package func appTransaction() async -> StoreDocument? {
        guard #available(iOS 16, macOS 13, tvOS 16, watchOS 9, *) else { return nil }
        guard let result = try? await AppTransaction.shared else { return nil }
        if case .verified = result {
            return StoreDocument(jws: result.jwsRepresentation, isVerified: true)
        }
        return StoreDocument(jws: result.jwsRepresentation, isVerified: false)
    }

    package func updates() -> AsyncStream<StoreUpdate> {
        let (stream, continuation) = AsyncStream.makeStream(of: StoreUpdate.self)
        let tasks = [
            Task {
                for await result in Transaction.updates {
                    continuation.yield(.transaction(StoreDocument(result)))
                }
            },
            Task {
                for await status in StoreKit.Product.SubscriptionInfo.Status.updates {
                    continuation.yield(.renewal(StoreRenewal(status)))
                }
            },
            Task {
                for await _ in Storefront.updates { continuation.yield(.storefront) }
            },
            Task { await Self.listenForRequests(continuation) },
        ]
        continuation.onTermination = { _ in for task in tasks { task.cancel() } }
        return stream
    }

    private static func listenForRequests(
        _ continuation: AsyncStream<StoreUpdate>.Continuation
    ) async {
        #if os(iOS) || os(macOS) || os(visionOS) || os(Linux)
            guard #available(iOS 16.4, macOS 14.4, visionOS 1, *) else { return }
            for await intent in PurchaseIntent.intents {
                var offerID: String?
                if #available(iOS 18, macOS 15, visionOS 2, *) { offerID = intent.offer?.id }
                continuation.yield(.request(product: intent.product.id, offerID: offerID))
            }
        #endif
    }
}

extension StoreDocument {
    init(_ result: VerificationResult<Transaction>) {
        if case .verified = result {
            self.init(jws: result.jwsRepresentation, isVerified: true)
        } else {
            self.init(jws: result.jwsRepresentation, isVerified: false)
        }
    }

    init(_ result: VerificationResult<StoreKit.Product.SubscriptionInfo.RenewalInfo>) {
        if case .verified = result {
            self.init(jws: result.jwsRepresentation, isVerified: true)
        } else {
            self.init(jws: result.jwsRepresentation, isVerified: false)
        }
    }
}

extension StoreRenewal {
    init(_ status: StoreKit.Product.SubscriptionInfo.Status) {
        let state: State =
            switch status.state {
            case .subscribed: .subscribed
            case .expired: .expired
            case .inBillingRetryPeriod: .retry
            case .inGracePeriod: .grace
            case .revoked: .revoked
            default: .unknown
            }
        self.init(
            state: state, transaction: StoreDocument(status.transaction),
            renewalInfo: StoreDocument(status.renewalInfo))
    }
}

extension StorePurchaseResult {
    init(_ result: StoreKit.Product.PurchaseResult) {
        switch result {
        case .success(let transaction): self = .bought(StoreDocument(transaction))
        case .pending: self = .pending
        case .userCancelled: self = .cancelled
        @unknown default: self = .unknown
        }
    }
}

extension StorePurchaseOptions {
    fileprivate func make(
        for product: StoreKit.Product
    ) throws(StoreError) -> Set<StoreKit.Product.PurchaseOption> {
        var options = custom.options
        if let token = accountToken.flatMap({ UUID(uuidString: $0) }) {
            options.insert(.appAccountToken(token))
        }
        if quantity > 1 { options.insert(.quantity(quantity)) }
        if let seats { options.insert(try .total(seats)) }
        if let plan { options.insert(try .plan(plan)) }
        switch offer {
        case .promotional(let id, let jws):
            options.formUnion(
                StoreKit.Product.PurchaseOption.promotionalOffer(id, compactJWS: jws))
        case .winBack(let id):
            options.insert(try .winBack(id, of: product))
        case .introductory(let jws):
            options.insert(.introductoryOfferEligibility(compactJWS: jws))
        case nil: break
        }
        return options
    }
}

extension StoreError {
    init(_ error: any Error) {
        switch error {
        case let error as StoreError: self = error
        case is CancellationError: self = .cancelled
        case let error as StoreKitError: self.init(error)
        case let error as StoreKit.Product.PurchaseError:
            self = Self.seats(error) ?? Self(error)
        default: self = .failed("\(type(of: error))")
        }
    }

    private init(_ error: StoreKitError) {
        switch error {
        case .userCancelled: self = .cancelled
        case .networkError: self = .unreachable
        case .notAvailableInStorefront: self = .notInStorefront
        case .systemError: self = .failed("StoreKitError.systemError")
        default: self = .failed("StoreKitError")
        }
    }

    private init(_ error: StoreKit.Product.PurchaseError) {
        switch error {
        case .productUnavailable: self = .productUnavailable
        case .purchaseNotAllowed: self = .notAllowed
        case .ineligibleForOffer: self = .offerNotAccepted("ineligible")
        case .invalidOfferIdentifier: self = .offerNotAccepted("identifier")
        case .invalidOfferPrice: self = .offerNotAccepted("price")
        case .invalidOfferSignature: self = .offerNotAccepted("signature")
        case .missingOfferParameters: self = .offerNotAccepted("parameters")
        case .invalidQuantity: self = .failed("PurchaseError.invalidQuantity")
        default: self = .failed("PurchaseError")
        }
    }
}

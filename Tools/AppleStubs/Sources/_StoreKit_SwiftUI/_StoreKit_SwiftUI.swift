// What StoreKit adds to SwiftUI's views, after the pages of that name in Apple's documentation of
// StoreKit. On Apple's systems it is an overlay that `import StoreKit` and `import SwiftUI` load.

public import StoreKit
public import SwiftUI

@MainActor @preconcurrency
public struct PurchaseAction: Sendable {
    public func callAsFunction(
        _ product: Product, options: Set<Product.PurchaseOption> = []
    ) async throws -> Product.PurchaseResult { declarationOnly() }
}

@MainActor @preconcurrency
public struct DisplayMessageAction: Sendable {
    public func callAsFunction(_ message: Message) throws { declarationOnly() }
}

extension EnvironmentValues {
    public var purchase: PurchaseAction { declarationOnly() }
    public var displayStoreKitMessage: DisplayMessageAction { declarationOnly() }
}

extension View {
    nonisolated public func onInAppPurchaseCompletion(
        perform action: (
            (Product, Result<Product.PurchaseResult, any Error>) async -> Void
        )? = nil
    ) -> some View { self }

    nonisolated public func inAppPurchaseOptions(
        _ options: ((Product) async -> Set<Product.PurchaseOption>?)?
    ) -> some View { self }

    nonisolated public func manageSubscriptionsSheet(isPresented: Binding<Bool>) -> some View {
        self
    }

    nonisolated public func refundRequestSheet(
        for transactionID: UInt64, isPresented: Binding<Bool>,
        onDismiss: (
            (Result<Transaction.RefundRequestStatus, Transaction.RefundRequestError>) -> Void
        )? = nil
    ) -> some View { self }

    nonisolated public func offerCodeRedemption(
        isPresented: Binding<Bool>, onCompletion: @escaping (Result<Void, any Error>) -> Void
    ) -> some View { self }

    nonisolated public func multiSeatInvitationSheet(
        isPresented: Binding<Bool>, subscriptionGroupID: String,
        onCompletion: @escaping @MainActor (Result<Void, any Error>) -> Void = { _ in }
    ) -> some View { self }

    nonisolated public func multiSeatInvitationBehavior(
        _ behavior: MultiSeatInvitationBehavior
    ) -> some View { self }
}

public struct MultiSeatInvitationBehavior: Equatable, Hashable, Sendable {
    public static let automatic = MultiSeatInvitationBehavior()
    public static let manual = MultiSeatInvitationBehavior()
}

private func declarationOnly() -> Never {
    preconditionFailure("a stub has declarations only")
}

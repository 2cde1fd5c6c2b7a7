// After Apple's documentation of UIKit, and of "purchase(confirmIn:options:)" and
// "presentMultiSeatInvitationSheet(from:subscriptionGroupID:)" in StoreKit.

public import StoreKit

@MainActor open class UIResponder {}

@MainActor open class UIScene: UIResponder {}

@MainActor open class UIWindowScene: UIScene {}

@MainActor open class UIView: UIResponder {
    open var window: UIWindow? { declarationOnly() }
}

@MainActor open class UIWindow: UIView {
    open var windowScene: UIWindowScene? { declarationOnly() }
}

@MainActor open class UIViewController: UIResponder {
    open var view: UIView! { declarationOnly() }
}

extension Product {
    @available(iOS 17.0, *)
    @MainActor
    public func purchase(
        confirmIn scene: some UIScene, options: Set<PurchaseOption> = []
    ) async throws -> PurchaseResult { declarationOnly() }

    @available(iOS 18.2, *)
    @MainActor
    public func purchase(
        confirmIn viewController: UIViewController, options: Set<PurchaseOption> = []
    ) async throws -> PurchaseResult { declarationOnly() }
}

extension AppStore {
    @available(iOS 27.3, *)
    @MainActor
    public static func presentMultiSeatInvitationSheet(
        from controller: UIViewController, subscriptionGroupID: String
    ) async throws { declarationOnly() }
}

private func declarationOnly() -> Never {
    preconditionFailure("a stub has declarations only")
}

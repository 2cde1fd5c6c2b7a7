// After Apple's documentation of AppKit, and of "purchase(confirmIn:options:)" and
// "presentMultiSeatInvitationSheet(from:subscriptionGroupID:)" in StoreKit.

public import StoreKit

@MainActor open class NSResponder {}

@MainActor open class NSWindow: NSResponder {}

extension Product {
    @available(macOS 15.2, *)
    @MainActor
    public func purchase(
        confirmIn window: NSWindow, options: Set<PurchaseOption> = []
    ) async throws -> PurchaseResult {
        preconditionFailure("a stub has declarations only")
    }
}

extension AppStore {
    @available(macOS 27.3, *)
    @MainActor
    public static func presentMultiSeatInvitationSheet(
        from window: NSWindow, subscriptionGroupID: String
    ) async throws {
        preconditionFailure("a stub has declarations only")
    }
}

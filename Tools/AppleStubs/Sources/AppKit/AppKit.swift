// After Apple's documentation of AppKit, and of "purchase(confirmIn:options:)" in StoreKit.

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

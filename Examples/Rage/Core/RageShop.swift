public import Foundation
public import Perennial

/// The app's rules: first a log-in, then a list of products, faces and comics. The folders Terminal
/// and iOS show these values.
public struct RageShop: Sendable {
    public static let placement: Perennial.PlacementID = "rage"
    /// The entitlement that gives all comics, and faces without limit.
    public static let everything: Perennial.EntitlementID = "everything"
    public static let faces: Perennial.WalletID = "faces"

    public let perennial: Perennial

    public init(_ perennial: Perennial) { self.perennial = perennial }

    /// - Parameter folder: the folder for the app's files. If nil, the usual folder.
    public init(server: URL, key: String, folder: URL? = nil) {
        var configuration = Perennial.Configuration(server: server, key: key)
        // As in the original app, customers log in before anything is shown.
        configuration.allowsAnonymous = false
        configuration.folder = folder
        configuration.log = Perennial.LogHandler(level: .error) { _, category, message in
            FileHandle.standardError.write(Data("\(category): \(message)\n".utf8))
        }
        self.init(Perennial(configuration))
    }
}

// MARK: - The account

extension RageShop {
    /// The id of the customer who is logged in. Nil if no customer is logged in.
    public var account: String? {
        let customer = perennial.snapshot.customer
        return customer.isAnonymous || customer.id.isEmpty ? nil : customer.id
    }

    public func logIn(_ name: String) async throws(Perennial.Failure) {
        try await perennial.identify(name)
    }

    public func logOut() async { await perennial.signOut() }
}

// MARK: - The list

extension RageShop {
    /// The headline and the products. Nil if no customer is logged in.
    public func list() async throws(Perennial.Failure) -> Perennial.PaywallContent? {
        guard account != nil else { return nil }
        return try await perennial.paywallContent(Self.placement)
    }

    /// Buys a product. Requires a log-in, so that the purchase has an account.
    ///
    /// - Returns: nil if no customer is logged in.
    @discardableResult
    public func buy(
        _ product: Perennial.ProductID
    ) async throws(Perennial.Failure) -> Perennial.Purchase? {
        guard account != nil else { return nil }
        return try await perennial.purchase(product)
    }

    /// Restores purchases. Comics come from the store; the ends of terms and the wallet come from
    /// the server.
    ///
    /// - Returns: nil if no customer is logged in.
    @discardableResult
    public func restore() async throws(Perennial.Failure) -> Perennial.Restoration? {
        guard account != nil else { return nil }
        return try await perennial.restore()
    }
}

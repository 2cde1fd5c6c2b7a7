/// A place in the app where products are offered, such as a paywall.
package struct Placement: Hashable, Sendable {
    package var id: PlacementID
    /// The products, in the order in which the app shows them.
    package var products: [ProductID]
    /// The app's own values, by name. Perennial only passes them on.
    package var metadata: [String: Metadata]

    package init(id: PlacementID, products: [ProductID], metadata: [String: Metadata] = [:]) {
        self.id = id
        self.products = products
        self.metadata = metadata
    }

    /// A value that means something to the app alone.
    package indirect enum Metadata: Hashable, Sendable {
        case null
        case flag(Bool)
        case integer(Int64)
        case number(Double)
        case text(String)
        case list([Metadata])
        case members([String: Metadata])
    }
}

package struct PlacementID: TextIdentifier {
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }
}

/// The parts of an app's offerings that do not decide access.
package struct OfferingRules: Hashable, Sendable {
    /// The placements, in the order of the configuration. The first one is the default.
    package var placements: [Placement]
    /// Whether a product can be shared with the family; absent if that is not known.
    package var familyShareable: [ProductID: Bool]

    package init(placements: [Placement] = [], familyShareable: [ProductID: Bool] = [:]) {
        self.placements = placements
        self.familyShareable = familyShareable
    }
}

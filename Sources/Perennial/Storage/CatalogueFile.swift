internal import Foundation
internal import PerennialContract

/// The last offerings: their signed text, and the App Store's descriptions of the products. The
/// file provides texts and prices before the store has answered. The system may delete it at any
/// time.
struct CatalogueFile: Sendable {
    static let bytesMax = 262_144
    static let name = "catalogue-1"
    /// The maximum number of products that are stored.
    static let productsMax = 500

    let path: String

    init(folder: DeviceFolder) { path = folder.cachePath(Self.name) }

    struct Catalogue: Hashable, Sendable, Codable {
        /// The signed text of the offerings. Verify it after each reading: see ``SignedOfferings``.
        var offerings: String?
        /// The `ETag` of the answer that contained the offerings.
        var version: String?
        var products: [Product] = []
    }

    /// The App Store's description of one product. The description is only shown, and proves
    /// nothing.
    struct Product: Hashable, Sendable, Codable {
        var id: String
        var kind: String
        var name: String
        var details: String
        var price: Decimal
        var displayPrice: String
        var currencyCode: String?
        /// The length of a period. Nil unless the product renews.
        var period: Period?
        var isFamilyShareable: Bool
    }

    struct Period: Hashable, Sendable, Codable {
        /// The unit of the period: `day`, `week`, `month` or `year`.
        var unit: String
        var count: Int
    }

    /// Reads the file. Returns nil if the file is absent, too large or damaged, because the server
    /// and the store can provide its content again.
    func read() -> Catalogue? {
        guard let bytes = try? FileBytes.read(path, bytesMax: Self.bytesMax) else { return nil }
        return try? JSONDecoder().decode(Catalogue.self, from: Data(bytes))
    }

    /// Replaces the file in one step. If the content does not fit, the products are left out.
    /// Throws ``FileFailure/tooLarge``, and leaves the file unchanged, if the offerings alone do
    /// not fit.
    func write(_ catalogue: Catalogue) throws {
        var catalogue = catalogue
        catalogue.products = Array(catalogue.products.prefix(Self.productsMax))
        var bytes = Array(try JSONEncoder().encode(catalogue))
        if bytes.count > Self.bytesMax {
            catalogue.products = []
            bytes = Array(try JSONEncoder().encode(catalogue))
        }
        guard bytes.count <= Self.bytesMax else { throw FileFailure.tooLarge }
        try FileBytes.replace(path, with: bytes)
    }
}

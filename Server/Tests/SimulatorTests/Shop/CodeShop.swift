import AppStoreFormats

@testable import Simulator

/// The cat shop, with codes for one-time products, and names in two languages.
enum CodeShop {
    static func file() throws -> StoreKitFile {
        var text = CatShop.text()
        for (place, more) in [gem, book, cats] {
            text = text.replacing(place, with: place + more)
        }
        return try StoreKitFile(parsing: text.utf8)
    }

    /// Each row: an insertion, and the place in the file that it follows.
    private static let gem = (
        #"{"productID": "gem", "type": "Consumable", "#,
        """
        "codeOffers": [{"referenceName": "FREEGEM", "paymentMode": "free"}],
        "localizations": [
          {"locale": "en_US", "displayName": "Gem", "description": "It shines."},
          {"locale": "de", "displayName": "Juwel", "description": "Es glänzt."}],
        """
    )

    private static let book = (
        #"{"productID": "book", "type": "NonConsumable", "#,
        #""codeOffers": [{"referenceName": "HALFBOOK", "displayPrice": "4.99"}], "#
    )

    private static let cats = (
        #"{"id": "cats", "#,
        """
        "name": "Cats", "localizations": [
          {"locale": "en_US", "displayName": "All cats"},
          {"locale": "de", "displayName": "Alle Katzen"}],
        """
    )
}

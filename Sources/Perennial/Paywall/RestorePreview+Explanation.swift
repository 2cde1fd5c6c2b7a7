public import Foundation

extension Perennial.RestorePreview.ShownPurchase {
    /// What a restore would do with this purchase, in one sentence for the customer.
    public var explanation: String { explanation(in: .current) }

    public func explanation(in locale: Locale) -> String {
        let wording = Wording(locale: locale)
        func text(_ key: TextKey, of owner: TextKey) -> String {
            ownerHint.map { wording.text(owner, [.owner: $0]) } ?? wording.text(key)
        }
        return switch effect {
        case .links: wording.text(.itemLinks)
        case .moves: text(.itemMoves, of: .itemMovesFrom)
        case .shares: text(.itemShares, of: .itemSharesWith)
        case .refused: text(.itemRefused, of: .itemRefusedOf)
        default: wording.text(.itemHad)
        }
    }
}

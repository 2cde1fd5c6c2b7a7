extension Sequence {
    /// The elements, with only one element for each transaction. A sandbox receipt and a signed
    /// transaction can name the same purchase by different numbers. Then one payment appears in two
    /// purchases. If the payment is revoked in one of these purchases, it counts as revoked.
    func uniquedByTransaction(_ payment: (Element) -> Payment) -> [Element] {
        var places: [TransactionID: Int] = [:]
        var kept: [Element] = []
        for element in self {
            let transaction = payment(element).transaction
            guard let place = places[transaction] else {
                places[transaction] = kept.count
                kept.append(element)
                continue
            }
            if payment(element).wasRevokedEarlier(before: payment(kept[place])) {
                kept[place] = element
            }
        }
        return kept
    }
}

extension Payment {
    fileprivate func wasRevokedEarlier(before other: Payment) -> Bool {
        guard let mine = revocation?.at else { return false }
        return other.revocation.map { mine < $0.at } ?? true
    }
}

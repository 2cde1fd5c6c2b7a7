internal import Foundation
internal import Perennial

// MARK: - Wallets

extension ScriptedBooks {
    mutating func credit(_ amount: Int, to wallet: Perennial.WalletID) {
        wallets[customer.id, default: [:]][wallet, default: 0] += amount
    }

    /// Spends an amount. Returns false if the balance is too low. Idempotent by key.
    mutating func spend(_ amount: Int, from id: Perennial.WalletID, key: UUID) -> Bool {
        if spendings.contains(key) { return true }
        guard amount >= 0, wallet(id).balance >= amount else { return false }
        spendings.insert(key)
        credit(-amount, to: id)
        return true
    }

    func wallet(_ id: Perennial.WalletID) -> Perennial.Wallet {
        Perennial.Wallet(balance: wallets[customer.id]?[id] ?? 0)
    }
}

import NIOCore
import PerennialContract

// Writes a customer as JSON, with the members of each object in the order of their keys. The result
// must equal that of `JSONEncoder`; a test compares the two.

extension Customer {
    var json: ByteBuffer {
        var text = JSONText()
        write(to: &text)
        return text.buffer
    }

    private func write(to text: inout JSONText) {
        text.object { text in
            text.key("aliases")
            text.array(aliases) { $0.string($1) }
            text.member("as_of", asOf.description)
            text.member("customer_id", customerID)
            text.key("entitlements")
            text.object { text in
                for (name, entitlement) in entitlements.sorted(by: { $0.key < $1.key }) {
                    text.key(named: name)
                    entitlement.write(to: &text)
                }
            }
            text.member("environment", environment.rawValue)
            text.key("non_renewing")
            text.array(nonRenewing) { $1.write(to: &$0) }
            text.key("one_time")
            text.array(oneTime) { $1.write(to: &$0) }
            text.key("subscriptions")
            text.array(subscriptions) { $1.write(to: &$0) }
            if let token { text.member("token", token) }
            text.key("wallets")
            text.object { text in
                for (name, wallet) in wallets.sorted(by: { $0.key < $1.key }) {
                    text.key(named: name)
                    text.object { $0.member("balance", wallet.balance) }
                }
            }
        }
    }
}

extension Entitlement {
    fileprivate func write(to text: inout JSONText) {
        text.object { text in
            text.member("active", active)
            text.member("grant_id", grantID)
            text.member("product_id", productID)
            text.member("purchase_id", purchaseID)
            text.member("reason", reason)
            text.member("state", state.rawValue)
            text.member("until", until?.description)
            text.member("will_renew", willRenew)
        }
    }
}

extension NonRenewing {
    fileprivate func write(to text: inout JSONText) {
        text.object { text in
            text.member("days_remaining", daysRemaining.map(Int64.init))
            text.member("from", from.description)
            text.member("product_id", productID)
            text.member("until", until?.description)
        }
    }
}

extension OneTimePurchase {
    fileprivate func write(to text: inout JSONText) {
        text.object { text in
            text.member("product_id", productID)
            text.member("purchased_at", purchasedAt.description)
            text.member("revoked_at", revokedAt?.description)
        }
    }
}

extension Subscription {
    fileprivate func write(to text: inout JSONText) {
        text.object { text in
            text.key("commitment")
            if let commitment { commitment.write(to: &text) } else { text.null() }
            text.member("environment", environment.rawValue)
            text.member("grace_until", graceUntil?.description)
            text.member("original_transaction_id", originalTransactionID)
            text.member("ownership", ownership.rawValue)
            text.key("period")
            text.object { text in
                text.member("from", period.from.description)
                text.member("until", period.until?.description)
            }
            text.key("price")
            if let price { price.write(to: &text) } else { text.null() }
            text.member("product_id", productID)
            text.member("purchase_id", purchaseID)
            text.member("renews_to", renewsTo)
            text.member("state", state.rawValue)
            text.member("store", store.rawValue)
            text.member("will_renew", willRenew)
        }
    }
}

extension Subscription.Commitment {
    fileprivate func write(to text: inout JSONText) {
        text.object { text in
            text.member("month", Int64(month))
            text.member("months", Int64(months))
            text.member("renews", renews)
            text.member("until", until?.description)
        }
    }
}

extension Money {
    fileprivate func write(to text: inout JSONText) {
        text.object { text in
            text.member("amount", amount)
            text.member("currency", currency)
        }
    }
}

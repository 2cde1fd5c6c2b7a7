// The purchase code of an app, with Apple's calls only. On Linux the module StoreKit talks to the
// App Store simulator; the same file compiles in Xcode.

import StoreKit

/// Writes a line at once, even into a pipe.
func say(_ line: String) {
    FileHandle.standardOutput.write(Data("\(line)\n".utf8))
}

/// Receives events outside of a purchase: renewals, refunds, purchases on other devices.
let listener = Task {
    for await result in Transaction.updates {
        guard case .verified(let transaction) = result else { continue }
        if transaction.revocationDate != nil {
            say("refunded \(transaction.productID)")
        } else if transaction.reason == .renewal {
            say("renewed \(transaction.productID)")
        }
        await transaction.finish()
        if transaction.revocationDate != nil { break }
    }
}

let products = try await Product.products(for: ["pro.monthly"])
guard let product = products.first else {
    say("The shop does not sell pro.monthly.")
    exit(1)
}
say("for sale: \(product.displayName), \(product.displayPrice)")

switch try await product.purchase() {
case .success(.verified(let transaction)):
    say("bought \(transaction.productID)")
    await transaction.finish()
case .success(.unverified(_, let error)): say("not verified: \(error)")
case .userCancelled: say("cancelled")
case .pending: say("pending")
@unknown default: say("something new")
}

for await result in Transaction.currentEntitlements {
    say("entitled to \(result.unsafePayloadValue.productID)")
}

await listener.value
var count = 0
for await _ in Transaction.currentEntitlements { count += 1 }
say("entitlements at the end: \(count)")

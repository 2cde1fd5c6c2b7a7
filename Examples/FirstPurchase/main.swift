import Foundation
import Perennial

let address = ProcessInfo.processInfo.environment["PERENNIAL_SERVER"] ?? "http://localhost:8080"
let perennial = Perennial(
    server: URL(string: address)!, key: "pk_dev_birds", customer: "anna")

_ = await perennial.known()
if !perennial["pro"].isActive {
    let purchase = try await perennial.purchase("pro.monthly")
    print("purchase: \(purchase.outcome)")
}
print(perennial.explain("pro"))

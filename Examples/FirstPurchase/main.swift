import Foundation
import Perennial

let environment = ProcessInfo.processInfo.environment
#if os(Linux)
    // Here the phone is a simulated one.
    if environment["PERENNIAL_SIMULATOR"] == nil || environment["PERENNIAL_DEVICE"] == nil {
        print(
            "Set PERENNIAL_SIMULATOR to the simulator's address, such as http://localhost:8090, "
                + "and PERENNIAL_DEVICE to a phone of it, such as anna-1.")
        exit(1)
    }
#endif
let address = environment["PERENNIAL_SERVER"] ?? "http://localhost:8080"
let perennial = Perennial(
    server: URL(string: address)!, key: "pk_dev_birds", customer: "anna")

let pro = await perennial.known("pro")
if !pro.isKnown {
    // Do not ask a customer who has paid to pay again.
    print("It is not known yet whether pro is open. Does a server answer at \(address)?")
    exit(1)
}
if !pro.isActive {
    do {
        let purchase = try await perennial.purchase("pro.monthly")
        print("purchase: \(purchase.outcome)")
    } catch {
        // The code and the remedy are for you. A customer reads `localizedDescription`.
        print("Nothing was bought. \(error.code.rawValue): \(error.remedy)")
        exit(1)
    }
}
print(perennial.explain("pro"))

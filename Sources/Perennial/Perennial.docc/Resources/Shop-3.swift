import Foundation
import Perennial

let perennial = Perennial(server: URL(string: "http://localhost:8080")!, key: "pk_dev_birds")

func greeting() -> String {
    let pro = perennial["pro"]
    guard pro.isKnown else { return "…" }
    return pro.isActive ? "Welcome back" : "Hello"
}

func subscribe() async -> String {
    do {
        let purchase = try await perennial.purchase("pro.monthly")
        return purchase.snapshot["pro"].isActive ? "Thank you" : "Another time"
    } catch {
        return error.localizedDescription
    }
}

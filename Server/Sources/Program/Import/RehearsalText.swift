import AppStoreFormats
import Ledger
import Rehearsal

/// The output of `rehearse`. It is made from the signed claims, so `--verify` prints the same
/// lines.
enum RehearsalText {
    private static let nameWidth = 22
    private static let countWidth = 7

    static func lines(of claims: JSON) -> [String] {
        let customers = number("customers", claims)
        let differences = number("differences", claims)
        let unexplained = number("unexplained", claims)
        let app = claims["aud"]?.string?.split(separator: "/").first ?? "?"
        var lines = [
            "\(customers.counted("customer")) of \(app) compared with "
                + "RevenueCat's \(claims["revenuecat_project"]?.string ?? "?"), "
                + "\(claims["environment"]?.string ?? "?")",
            "from \(claims["from"]?.string ?? "?") to \(claims["to"]?.string ?? "?")",
            "\(number("entitlements", claims).counted("entitlement")) open in at least one of the "
                + "systems, \(differences.counted("difference"))",
        ]
        for cause in RehearsalCause.allCases {
            let count = claims["causes"]?[cause.rawValue]?.integer ?? 0
            guard count > 0 || cause == .unexplained else { continue }
            lines.append("  \(column(cause, count))  \(cause.sentence) \(cause.remedy)")
        }
        let loses = number("loses", claims)
        let gains = number("gains", claims)
        lines.append(
            "The switch would end access in \(loses.counted("case")), and open it in "
                + "\(gains.counted("case")).")
        if claims["complete"] != .bool(true) {
            lines.append(
                "Incomplete: the other customers were not compared, because so many differences "
                    + "have one cause. Compare `products` in perennial.yaml with RevenueCat's, "
                    + "import RevenueCat's export, and rehearse again.")
        }
        lines.append("\(unexplained) unexplained of \(customers.counted("customer"))")
        return lines
    }

    private static func number(_ name: String, _ claims: JSON) -> Int64 {
        claims[name]?.integer ?? 0
    }

    private static func column(_ cause: RehearsalCause, _ count: Int64) -> String {
        let name = cause.rawValue
        let number = "\(count)"
        return name + String(repeating: " ", count: max(1, nameWidth - name.count))
            + String(repeating: " ", count: max(0, countWidth - number.count)) + number
    }
}

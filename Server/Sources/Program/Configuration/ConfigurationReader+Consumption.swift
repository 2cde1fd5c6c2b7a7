import Ledger
import Yams

/// What the App Store is told where a customer wishes to have the money back.
extension ConfigurationReader {
    mutating func consumption(_ node: Node) -> ConsumptionRules {
        var rules = ConsumptionRules()
        let members = members(
            of: node, known: ["answer", "sample_content", "refund_preference"], in: "consumption")
        if let answer = members["answer"] {
            rules.policy =
                word(answer, ConsumptionRules.Policy.self, "not when the App Store is answered")
                ?? rules.policy
        }
        if let sample = members["sample_content"].flatMap({ bool($0) }) { rules.hasSample = sample }
        if let preference = members["refund_preference"] {
            rules.preference = word(
                preference, RefundPreference.self, "not what is preferred of a refund")
        }
        return rules
    }
}

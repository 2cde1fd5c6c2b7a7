import Engine
import Ledger

/// Parses the settings of the reports to Apple about customers who ask for a refund.
extension ConfigurationReader {
    static let consumptionKeys: [Key<ConsumptionRules>] = [
        Key("answer", \.policy) { $0.word($1, "not a consumption answer policy") },
        Key("sample_content", \.hasSample) { $0.bool($1) },
        Key("refund_preference", \.preference) { $0.word($1, "not a refund preference") },
    ]
}

extension AppSettings {
    var consumptionLines: [String] {
        guard consumption.policy != .never else { return [] }
        return [
            "consumption sent \(consumption.policy.rawValue), sample \(consumption.hasSample), "
                + "refund preference \(consumption.preference?.rawValue ?? "none")"
        ]
    }
}

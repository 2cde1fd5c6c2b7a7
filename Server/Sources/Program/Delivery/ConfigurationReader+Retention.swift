import Engine

/// Parses how long ended deliveries and forwards stay stored.
extension ConfigurationReader {
    private static let daysRange = 1...365
    /// The range for forwards. Before the minimum, the App Store still repeats a notification, and
    /// the server must know that it was forwarded.
    private static let forwardDaysRange = 8...365

    static let retentionKeys: [Key<DeliveryRetention>] = [
        Key("accepted_deliveries_days", \.accepted, in: daysRange) { .days($0) },
        Key("failed_deliveries_days", \.failed, in: daysRange) { .days($0) },
        Key("forwards_days", \.forwarded, in: forwardDaysRange) { .days($0) },
    ]
}

extension AppSettings {
    var retentionLines: [String] {
        let usual = DeliveryRetention()
        var lines: [String] = []
        if retention.accepted != usual.accepted {
            lines.append("accepted deliveries stay \(retention.accepted.daysText)")
        }
        if retention.failed != usual.failed {
            lines.append("failed deliveries stay \(retention.failed.daysText)")
        }
        if retention.forwarded != usual.forwarded {
            lines.append("forwards stay \(retention.forwarded.daysText)")
        }
        return lines
    }
}

extension Duration {
    /// Whole days in words, such as `8 days`.
    fileprivate var daysText: String { Int(components.seconds / 86_400).counted("day") }
}

import Engine

/// Parses how long rows stay stored that are no longer needed.
extension ConfigurationReader {
    private static let daysRange = 1...365
    /// The range for forwards. Before the minimum, the App Store still repeats a notification, and
    /// the server must know that it was forwarded.
    private static let forwardDaysRange = 8...365
    /// The range for test purchases. After the minimum, every forward of their documents has ended.
    private static let sandboxDaysRange = 30...3650
    private static let auditDaysRange = RetentionSettings.auditMin.wholeDays...3650

    static let retentionKeys: [Key<RetentionSettings>] = [
        Key("accepted_deliveries_days", \.accepted, in: daysRange) { .days($0) },
        Key("failed_deliveries_days", \.failed, in: daysRange) { .days($0) },
        Key("forwards_days", \.forwarded, in: forwardDaysRange) { .days($0) },
        Key("sandbox_days", \.sandbox, in: sandboxDaysRange) { .days($0) },
        Key("audit_days", \.audit, in: auditDaysRange) { .days($0) },
    ]
}

extension AppSettings {
    var retentionLines: [String] {
        let usual = RetentionSettings()
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
        if let sandbox = retention.sandbox {
            lines.append("ended test purchases stay \(sandbox.daysText)")
        }
        if let audit = retention.audit {
            lines.append("entries of the audit stay \(audit.daysText)")
        }
        return lines
    }
}

extension Duration {
    /// Whole days in words, such as `8 days`.
    fileprivate var daysText: String { wholeDays.counted("day") }
    fileprivate var wholeDays: Int { Int(components.seconds / 86_400) }
}

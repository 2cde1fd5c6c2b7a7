/// How long an app's rows stay stored when they are no longer needed. Most of them contain data of
/// people.
package struct RetentionSettings: Hashable, Sendable {
    /// How long deliveries of webhooks stay after they were accepted.
    package var accepted = Duration.days(8)
    /// How long deliveries stay after all attempts failed. Until then they can be sent again.
    package var failed = Duration.days(30)
    /// How long forwarded notifications stay after they were accepted or left out. After the
    /// default time, the App Store no longer repeats them.
    package var forwarded = Duration.days(8)
    /// How long test purchases stay after they ended. Nil if they stay.
    package var sandbox: Duration?
    /// How long entries of the audit stay. Nil if they stay.
    package var audit: Duration?

    package init() {}

    /// The minimum of ``audit``. If a younger entry is missing in an exported file, retention
    /// cannot be the cause.
    package static let auditMin = Duration.days(365)
}

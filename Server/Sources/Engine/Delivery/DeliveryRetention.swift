/// How long an app's deliveries and forwards stay stored after they ended. They contain data of
/// customers.
package struct DeliveryRetention: Hashable, Sendable {
    /// How long deliveries of webhooks stay after they were accepted.
    package var accepted = Duration.days(8)
    /// How long deliveries stay after all attempts failed. Until then they can be sent again.
    package var failed = Duration.days(30)
    /// How long forwarded notifications stay after they were accepted or left out. After the
    /// default time, the App Store no longer repeats them.
    package var forwarded = Duration.days(8)

    package init() {}
}

/// A kind of background work, by its name in metrics.
enum Work: String, CaseIterable, Sendable {
    case alertMessages = "alert_messages"
    case alerts
    case appleReports = "apple_reports"
    case backfill
    case checks
    case checksBacklog = "checks_backlog"
    case consumption
    case customerRows = "customer_rows"
    case forwards
    case forwardsBacklog = "forwards_backlog"
    case history
    case keyUses = "key_uses"
    case measurements
    case money
    case moneySums = "money_sums"
    case numbering
    case partitions
    case retention
    case seatComparisons = "seat_comparisons"
    case seatReports = "seat_reports"
    case statistics
    case traces
    case transitions
    case webhookEvents = "webhook_events"
    case webhooks
    case webhooksBacklog = "webhooks_backlog"
}

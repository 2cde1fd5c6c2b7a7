import Ledger
import Storage

/// The properties of a webhook that a request changes. A property that is nil is not changed.
package struct WebhookChange: Hashable, Sendable {
    package var url: String?
    package var types: Set<Change.Kind>??
    package var products: Set<ProductID>??
    package var environments: Set<Environment>??
    package var format: WebhookFormat?
    package var authorization: String??
    package var isPaused: Bool?

    package init() {}

    var changesSettings: Bool {
        url != nil || types != nil || products != nil || environments != nil || format != nil
            || authorization != nil
    }

    func apply(to settings: inout WebhookSettings) {
        if let url { settings.url = url }
        if let types { settings.filter.types = types }
        if let products { settings.filter.products = products }
        if let environments { settings.filter.environments = environments }
        if let format { settings.format = format }
        if let authorization { settings.authorization = authorization }
    }
}

/// Selects the events that are delivered again.
package struct WebhookReplay: Hashable, Sendable {
    package var after: LogPosition?
    package var until: LogPosition?
    package var from: Instant?
    package var to: Instant?
    package var event: LogPosition?
    package var customer: CustomerID?

    package init() {}

    /// The maximum number of events that one request reads.
    package static let eventsMax = EventLog.eventsMax
}

import Engine
import Ledger

/// The pages about one subject, with their acts.
protocol PageGroup: Sendable {
    var routes: DashboardRoutes { get }
}

extension PageGroup {
    var server: PerennialServer { routes.server }
    var engine: Engine { routes.engine }
    var access: DashboardAccess { routes.access }
    var app: AppID { routes.app }
}

// The groups, by name.
extension DashboardRoutes {
    var customerPages: CustomerPages { CustomerPages(routes: self) }
    var documentPages: DocumentPages { DocumentPages(routes: self) }
    var eventPages: EventPages { EventPages(routes: self) }
    var moneyPages: MoneyPages { MoneyPages(routes: self) }
    var notificationPages: NotificationPages { NotificationPages(routes: self) }
    var operationPages: OperationPages { OperationPages(routes: self) }
    var operatorPages: OperatorPages { OperatorPages(routes: self) }
    var overviewPages: OverviewPages { OverviewPages(routes: self) }
    var rehearsalPages: RehearsalPages { RehearsalPages(routes: self) }
    var seatPages: SeatPages { SeatPages(routes: self) }
    var supportActs: SupportActs { SupportActs(routes: self) }
    var webhookPages: WebhookPages { WebhookPages(routes: self) }
}

import Mustache

/// The templates in Resources, each parsed once.
enum Template: String, CaseIterable {
    case layout, customers, customer, events, notifications, webhooks, webhook, products
    case checks, overview, chart, login, reports

    func markup(_ fields: Fields) -> Markup {
        guard let template = Self.library.getTemplate(named: rawValue) else {
            preconditionFailure("The library has a template of each name.")
        }
        return Markup(rendered: template, fields, library: Self.library)
    }

    private static let library = MustacheLibrary(
        templates: Dictionary(uniqueKeysWithValues: allCases.map { ($0.rawValue, $0.parsed) }))

    private var parsed: MustacheTemplate {
        do {
            return try MustacheTemplate(string: source)
        } catch {
            preconditionFailure("The template \(rawValue) cannot be parsed: \(error)")
        }
    }

    var source: String { String(decoding: bytes, as: UTF8.self) }

    private var bytes: [UInt8] {
        switch self {
        case .layout: PackageResources.layout_mustache
        case .customers: PackageResources.customers_mustache
        case .customer: PackageResources.customer_mustache
        case .events: PackageResources.events_mustache
        case .notifications: PackageResources.notifications_mustache
        case .webhooks: PackageResources.webhooks_mustache
        case .webhook: PackageResources.webhook_mustache
        case .products: PackageResources.products_mustache
        case .checks: PackageResources.checks_mustache
        case .overview: PackageResources.overview_mustache
        case .chart: PackageResources.chart_mustache
        case .login: PackageResources.login_mustache
        case .reports: PackageResources.reports_mustache
        }
    }
}

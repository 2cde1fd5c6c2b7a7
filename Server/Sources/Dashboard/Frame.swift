import PerennialContract

/// The parts that every page shows around its content, and how it writes times and links.
package struct Frame: Sendable {
    package var viewer: Viewer
    /// The app's name in the configuration.
    package var app: String
    /// All apps that the reader can choose, including the app of the page.
    package var apps: [String]
    package var environment: StoreEnvironment
    /// The environments to choose from. Empty for a simulated app.
    package var environments: [StoreEnvironment]
    package var now: Timestamp
    /// The theme that the operator has chosen. Nil follows the system's setting.
    package var theme: Theme?
    /// Whether `/live` is served. If false, no page requests `/live`.
    package var isLive: Bool
    /// The position of the log when the page was rendered, after which its stream continues.
    package var logPlace: String?
    /// Whether purchases are made in the simulator: then the navigation leads to the phone.
    package var isSimulated: Bool
    /// The numbers in the navigation. Zero is not shown.
    package var deliveriesWaiting: Int
    package var checksOpen: Int
    /// The path and query of the page, to which a form returns.
    package var path: String
    /// The notices above the content: what an action has done, or why it was not done.
    package var notices: [Notice]

    package enum Theme: String, Sendable { case light, dark }

    package init(
        viewer: Viewer, app: String, apps: [String] = [],
        environment: StoreEnvironment = .production,
        environments: [StoreEnvironment] = [.production, .sandbox], now: Timestamp,
        theme: Theme? = nil, isLive: Bool = true, isSimulated: Bool = false,
        deliveriesWaiting: Int = 0,
        checksOpen: Int = 0, path: String = "/", notices: [Notice] = []
    ) {
        self.viewer = viewer
        self.app = app
        self.apps = apps
        self.environment = environment
        self.environments = environments
        self.now = now
        self.theme = theme
        self.isLive = isLive
        self.isSimulated = isSimulated
        self.deliveriesWaiting = deliveriesWaiting
        self.checksOpen = checksOpen
        self.path = path
        self.notices = notices
    }

    /// The value of `href` and `action`: the path, in the present environment.
    package func link(_ path: DashboardPath) -> Markup {
        Markup(text: path.in(environment).text)
    }

    /// The address of this page's stream: `/live`, followed by the address of the page.
    var source: Markup {
        let path = path == "/" || path.hasPrefix("/?") ? String(path.dropFirst()) : path
        let place = logPlace.map { (path.contains("?") ? "&" : "?") + "place=" + $0 } ?? ""
        return "/live\(.value(path))\(.value(place))"
    }

    /// The hidden field of every form that changes something.
    package var csrf: Markup {
        "<input type=\"hidden\" name=\"csrf\" value=\"\(.value(viewer.csrf))\">"
    }

    /// The hidden field of every form that only searches. It is needed, because a browser replaces
    /// the query in the address of such a form.
    var environmentField: Markup {
        guard environment != .production else { return "" }
        return """
            <input type="hidden" name="environment" value="\(.value(environment.rawValue))">
            """
    }

    /// A link to a customer, or a dash.
    package func customer(_ id: String?) -> Markup {
        guard let id else { return "<span class=\"muted\">no customer</span>" }
        return "<a href=\"\(link(.customer(id)))\">\(.id(id))</a>"
    }
}

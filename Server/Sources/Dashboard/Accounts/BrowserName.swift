/// The short name of a browser and its system, such as `Firefox on Windows`, from its `User-Agent`.
/// For compatibility with old servers, `User-Agent` contains the names of many browsers. The
/// browser's own name is the first name in the lists below that `User-Agent` contains.
struct BrowserName: Hashable, Sendable {
    let text: String

    /// The maximum number of characters of a text in which no browser is recognised.
    private static let charactersMax = 40

    init(userAgent: String) {
        guard !userAgent.isEmpty else {
            text = "Unknown browser"
            return
        }
        guard let browser = Self.first(of: Self.browsers, in: userAgent) else {
            let isLong = userAgent.count > Self.charactersMax
            text = userAgent.prefix(Self.charactersMax) + (isLong ? " …" : "")
            return
        }
        let system = Self.first(of: Self.systems, in: userAgent)
        text = browser + (system.map { " on \($0)" } ?? "")
    }

    private static let browsers = [
        ("Edg", "Edge"), ("OPR/", "Opera"), ("Vivaldi/", "Vivaldi"),
        ("SamsungBrowser/", "Samsung Internet"), ("Firefox/", "Firefox"), ("FxiOS/", "Firefox"),
        ("Chromium/", "Chromium"), ("HeadlessChrome/", "Chromium"), ("Chrome/", "Chrome"),
        ("CriOS/", "Chrome"), ("Safari/", "Safari"), ("curl/", "curl"),
    ]

    private static let systems = [
        ("iPhone", "iPhone"), ("iPad", "iPad"), ("Android", "Android"), ("Windows", "Windows"),
        ("CrOS", "ChromeOS"), ("Macintosh", "Mac"), ("Linux", "Linux"),
    ]

    private static func first(
        of names: [(mark: String, name: String)], in text: String
    ) -> String? {
        names.first { text.contains($0.mark) }?.name
    }
}

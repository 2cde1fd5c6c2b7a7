import Testing

@testable import Dashboard

@Suite struct BrowserNameTests {
    private static let mac = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/"
    private static let linux =
        "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) "

    @Test func `a browser's user agent is shown as a short name`() {
        let rows = [
            (Self.linux + "Chrome/140.0.0.0 Safari/537.36", "Chrome on Linux"),
            (Self.linux + "HeadlessChrome/140.0.0.0 Safari/537.36", "Chromium on Linux"),
            (
                Self.linux + "Ubuntu Chromium/140.0.0.0 Chrome/140.0.0.0 Safari/537.36",
                "Chromium on Linux"
            ),
            (
                Self.mac + "605.1.15 (KHTML, like Gecko) Version/19.0 Safari/605.1.15",
                "Safari on Mac"
            ),
            (
                Self.mac + "537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36 "
                    + "Edg/140.0.0.0", "Edge on Mac"
            ),
            (
                "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0",
                "Firefox on Windows"
            ),
            (
                "Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) AppleWebKit/605.1.15 "
                    + "(KHTML, like Gecko) Version/19.0 Mobile/15E148 Safari/604.1",
                "Safari on iPhone"
            ),
            (
                "Mozilla/5.0 (Linux; Android 16; K) AppleWebKit/537.36 (KHTML, like Gecko) "
                    + "Chrome/140.0.0.0 Mobile Safari/537.36", "Chrome on Android"
            ),
            ("curl/8.14.1", "curl"), ("Browser", "Browser"), ("", "Unknown browser"),
            (String(repeating: "x", count: 60), String(repeating: "x", count: 40) + " …"),
        ]
        for (agent, name) in rows {
            #expect(BrowserName(userAgent: agent).text == name, "\(agent)")
        }
    }

    @Test func `the tooltip of a short browser name is the full user agent`() {
        let samples = Samples()
        var page = samples.account
        let agent = Self.linux + "Chrome/140.0.0.0 Safari/537.36"
        page.sessions[0].agent = agent
        let html = page.html(in: samples.signedIn)
        #expect(html.contains("<span title=\"\(agent)\"><bdi>Chrome on Linux</bdi></span>"))
    }
}

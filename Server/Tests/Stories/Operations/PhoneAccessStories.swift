import AppStoreFormats
import AsyncHTTPClient
import Eventually
import Foundation
import NIOCore
import Testing

/// Access to the phone of `perennial dev`. A browser, with or without scripts, and a terminal may
/// use it; another site may not.
@Suite(.serialized, .timeLimit(.minutes(10))) struct PhoneAccessStories {
    @Test
    func `a request from another site to the simulated phone is refused`() async throws {
        try await PhoneTable.play { phone in
            let port = phone.server.base.split(separator: ":").last ?? ""
            let own = "http://127.0.0.1:\(port)"
            let rows: [([String: String], status: Int)] = [
                (["Origin": "https://evil.example"], 403),
                (["Origin": "null"], 403),
                (["Origin": "http://127.0.0.1:1"], 403),
                (["Origin": "http://localhost:\(port)"], 403),
                (["Origin": own, "Sec-Fetch-Site": "cross-site"], 403),
                (["Sec-Fetch-Site": "same-site"], 403),
                (["Sec-Fetch-Site": "none"], 403),
                (["Content-Type": "text/plain"], 403),
                (["Content-Type": "multipart/form-data; boundary=x"], 403),
                (["Host": "evil.example"], 403),
                (["Host": "localhost.evil.example:\(port)"], 403),
                (["Host": "127.0.0.1.evil.example"], 403),
                ([:], 200),
                (["Origin": own, "Sec-Fetch-Site": "same-origin"], 200),
                (["Host": "localhost:\(port)", "Origin": "http://localhost:\(port)"], 200),
            ]
            for (headers, status) in rows {
                let answer = try await phone.post("month", headers: headers)
                #expect(answer.status == status, "\(headers)")
            }
            let moved = rows.count { $0.status == 200 }
            let now = try await phone.simulator.get("/_sim/clock").text("now")
            #expect(now.hasPrefix("2026-0\(1 + moved)-01"), "\(now)")
            for host in ["evil.example", "localhost.evil.example"] {
                let page = try await phone.server.send("GET", "/phone", headers: ["Host": host])
                #expect(page.status == 403, "\(host)")
            }
        }
    }

    @Test func `a form on the phone's page works without scripts, and redirects to the page`()
        async throws
    {
        try await PhoneTable.play { phone in
            let answer = try await phone.postForm("month")
            #expect(answer.status == 303 && answer.location == "/phone")
            #expect(try await phone.page().contains("1 Feb 2026, 12:00"))
        }
    }

    @Test func `an unknown action on the phone is refused`() async throws {
        try await PhoneTable.play { phone in
            for act in ["", "explode", "sheet"] {
                #expect(try await phone.post(act).status == 400, "\(act)")
            }
            let trouble = try await phone.act("refund")
            #expect(trouble.text("trouble").contains("There is nothing to refund."))
            let unknown = try await phone.act("sheet nothing", "yes")
            #expect(unknown.html("trouble").contains("role=\"alert\""))
            #expect(!(try await phone.act("no").html("trouble").contains("alert")))
        }
    }

    @Test func `the phone's page loads everything from this server`() async throws {
        try await PhoneTable.play { phone in
            let page = try await phone.page()
            let sources = page.matches(of: #/(?:src|href)="(\/assets\/[^"]+)"/#).map { $0.1 }
            #expect(sources.count == 4)
            for source in sources {
                let asset = try await phone.server.send("GET", String(source))
                #expect(asset.status == 200 && !asset.body.isEmpty, "\(source)")
            }
        }
    }

    @Test func `the phone's page has the headers that protect every page`() async throws {
        try await PhoneTable.play { phone in
            var headers: [[String: String]] = []
            for path in ["/", "/phone"] {
                let request = HTTPClientRequest(url: phone.server.base + path)
                let page = try await HTTPClient.shared.execute(request, timeout: .seconds(120))
                #expect(page.status == .ok)
                let names = [
                    "Content-Security-Policy", "Referrer-Policy", "X-Frame-Options",
                    "X-Content-Type-Options", "Cache-Control", "Content-Type",
                ]
                let pairs = names.map { ($0, page.headers.first(name: $0) ?? "none") }
                headers.append(Dictionary(uniqueKeysWithValues: pairs))
            }
            #expect(headers[0] == headers[1])
            #expect(!headers[0].values.contains("none"), "\(headers[0])")
        }
    }

    @Test
    func `the open phone page shows a renewal that was caused through the simulator's API`()
        async throws
    {
        try await PhoneTable.play { phone in
            try await phone.act("sheet pro.monthly", "yes")
            let client = HTTPClient.shared
            let request = HTTPClientRequest(url: phone.server.base + "/phone/live")
            let answer = try await client.execute(request, timeout: .seconds(120))
            #expect(answer.headers.first(name: "content-type") == "text/event-stream")
            var text = ""
            var hasMoved = false
            for try await part in answer.body {
                text += String(buffer: part)
                if !hasMoved, text.contains("\"id\":\"wire\"") {
                    hasMoved = true
                    try await phone.simulator.post("/_sim/clock", ["advance": "P31D"])
                }
                if text.contains("DID_RENEW") { break }
            }
            #expect(text.contains("DID_RENEW"))
        }
    }

    @Test
    func `while a year passes, the phone's page receives more than twelve updates of the clock`()
        async throws
    {
        try await PhoneTable.play { phone in
            try await phone.act("sheet pro.monthly", "yes")
            let request = HTTPClientRequest(url: phone.server.base + "/phone/live")
            let answer = try await HTTPClient.shared.execute(request, timeout: .seconds(120))
            async let year = phone.act("year")
            var (text, moments) = ("", 0)
            for try await part in answer.body {
                text += String(buffer: part)
                moments = text.matches(of: #/"id":"now"/#).count
                if moments > 12 { break }
            }
            #expect(moments > 12)
            _ = try await year
        }
    }

    @Test func `if the simulated phone is disabled, /phone answers 404`() async throws {
        try await withShop(on: .sqlite) { shop in
            let page = try await shop.server.send("GET", "/phone")
            #expect(page.status == 404)
        }
    }
}

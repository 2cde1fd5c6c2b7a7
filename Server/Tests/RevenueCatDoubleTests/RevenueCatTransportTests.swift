import AppStoreFormats
import AsyncHTTPClient
import RevenueCatDouble
import Simulator
import Synchronization
import Testing

@Suite struct RevenueCatTransportTests {
    private static let now = AppStoreDate(milliseconds: 1_767_268_800_000)

    private static func town(
        customers: Int = 0, _ faults: RevenueCatDouble.TransportFaults = .init(),
        limits: RevenueCatDouble.RateLimits? = nil
    ) throws -> Town {
        let shop = try FullShop.file()
        let project = RevenueCatDouble.Project(shop: shop, entitlements: ["pro": ["atlas"]])
        let double = RevenueCatDouble(project, now: now, faults: faults, limits: limits)
        for number in 0..<customers { double.alias("user-\(number)", "user-\(number)") }
        return Town(simulators: [], double: double, customers: [])
    }

    @Test func `version 1 creates an unknown customer, and version 2 answers 404`()
        async throws
    {
        let town = try Self.town()
        let path = "customers/\(Town.encoded("$RCAnonymousID:a/b"))"
        #expect(await town.v2(path).status == 404)
        #expect(town.v1("$RCAnonymousID:a/b").status == 201)
        #expect(town.v1("$RCAnonymousID:a/b").status == 200)
        let customer = try JSON(parsing: await town.v2(path).body)
        #expect(customer["id"] == "$RCAnonymousID:a/b")
    }

    @Test func `a request with a wrong key, another project or a missing permission is refused`()
        async throws
    {
        let town = try Self.town(customers: 1)
        let path = "/v2/projects/\(town.double.project.id)/customers"
        let key = "Bearer \(town.double.project.v2Key)"
        for wrong in [nil, town.double.project.v2Key, "Bearer \(town.double.project.v1Key)"] {
            #expect(await town.double.respond(to: path, authorization: wrong).status == 401)
        }
        let other = await town.double.respond(
            to: "/v2/projects/proj0/customers", authorization: key)
        #expect(other.status == 404)
        #expect(try JSON(parsing: other.body)["type"] == "resource_missing")
        var faults = RevenueCatDouble.TransportFaults()
        faults.isForbidden = true
        town.double.set(faults: faults)
        #expect(await town.v2("customers").status == 403)
        #expect(await town.v2("products").status == 200)
        faults.isForbidden = false
        faults.keyExpiresAfter = 0
        town.double.set(faults: faults)
        #expect(await town.v2("customers").status == 401)
    }

    @Test(arguments: [1, 2, 7, 20, 1000])
    func `the pages of a list contain each customer once, in the order of creation`(
        limit: Int
    ) async throws {
        let town = try Self.town(customers: 45)
        #expect(
            try await town.listedCustomers(limit: limit) == (0..<45).map { "user-\($0)" })
    }

    @Test func `a list can omit and repeat customers, but each customer can be read by id`()
        async throws
    {
        var faults = RevenueCatDouble.TransportFaults()
        faults.omittedCustomers = 0.2
        faults.repeatedCustomers = 0.2
        let town = try Self.town(customers: 200, faults)
        let listed = try await town.listedCustomers(limit: 10)
        #expect((100..<200).contains(Set(listed).count))
        #expect(Set(listed).count < listed.count)
        for number in 0..<200 {
            #expect(await town.v2("customers/user-\(number)").status == 200)
        }
    }

    @Test func `a page over the size limit fails until a smaller page is requested`() async throws {
        var faults = RevenueCatDouble.TransportFaults()
        faults.pageMax = 25
        faults.losesLargePages = true
        let town = try Self.town(customers: 60, faults)
        let large = await town.v2("customers?limit=100")
        #expect(large.status == 504 && large.isLost)
        #expect(try await Set(town.listedCustomers(limit: 25)).count == 60)
    }

    @Test func `requests fail in every way, but at most twice in a row`() async throws {
        var faults = RevenueCatDouble.TransportFaults()
        (faults.tooManyRequests, faults.unavailable, faults.htmlPages) = (0.2, 0.2, 0.2)
        (faults.cutBodies, faults.hugeBodies) = (0.2, 0.2)
        let town = try Self.town(customers: 60, faults)
        var seen: Set<String> = []
        for number in 0..<60 {
            var failures = 0
            while true {
                let answer = await town.v2("customers/user-\(number)")
                let isRight = (try? JSON(parsing: answer.body)["object"]) == "customer"
                if answer.status == 200, isRight, answer.body.count < 4_000_000 { break }
                seen.insert("\(answer.status) \(answer.headers["content-type"] ?? "") \(isRight)")
                #expect((answer.headers["retry-after"] != nil) == (answer.status == 429))
                failures += 1
                try #require(failures <= RevenueCatDouble.TransportFaults.failuresMax)
            }
        }
        #expect(
            seen == [
                "429 application/json false", "503 application/json false",
                "200 text/html false", "200 application/json false", "200 application/json true",
            ])
    }

    @Test func `requests beyond a minute's limit are refused until the minute ends`() async throws {
        let clock = Mutex<Int64>(5_000)
        let limits = RevenueCatDouble.RateLimits { clock.withLock { $0 } }
        let town = try Self.town(limits: limits)
        for _ in 0..<60 { #expect(await town.v2("products").status == 200) }
        clock.withLock { $0 += 15_000 }
        let refused = await town.v2("entitlements")
        #expect(refused.status == 429 && refused.headers["retry-after"] == "45")
        #expect(try JSON(parsing: refused.body)["backoff_ms"] == 45_000)
        #expect(await town.v2("customers").status == 200)
        clock.withLock { $0 += 45_000 }
        let allowed = await town.v2("products")
        #expect(allowed.headers["revenuecat-rate-limit-current-usage"] == "1")
    }

    @Test func `over HTTP the answer has the same status, headers and bytes`() async throws {
        let town = try Self.town(customers: 3)
        let double = town.double
        let path = "/v2/projects/\(double.project.id)/customers/user-1/aliases?limit=2"
        let key = "Bearer \(double.project.v2Key)"
        let received = try await LoopbackDouble(double).serve { base in
            var request = HTTPClientRequest(url: base + path)
            request.headers.add(name: "Authorization", value: key)
            let response = try await HTTPClient.shared.execute(request, timeout: .seconds(60))
            let body = try await response.body.collect(upTo: 1 << 20)
            return (Int(response.status.code), Array(body.readableBytesView))
        }
        let direct = await double.respond(to: path, authorization: key)
        #expect(received?.0 == 200 && received?.1 == direct.body)
    }
}

import AppStoreFormats
import Foundation
import HTTPTypes
import Hummingbird

// Apple's paths for sales and financial reports, in the App Store Connect API.

/// A request for a report, as received over HTTP.
struct ReportCall: Sendable {
    enum Endpoint: String, Hashable, Sendable, CaseIterable {
        case sales = "v1/salesReports"
        case finance = "v1/financeReports"
    }

    let endpoint: Endpoint
    var query: [(name: String, value: String)] = []
    var authorization: String?
    var accept: String?
    /// The time of arrival by the machine's clock. It is needed, because clients without a virtual
    /// clock date their tokens by the machine's clock.
    let arrived: AppStoreDate
}

extension AppStoreSimulator {
    nonisolated func addSalesReports(to router: Router<SimulatorContext>) {
        for endpoint in ReportCall.Endpoint.allCases {
            router.get(RouterPath("/\(endpoint.rawValue)")) { request, _ in
                // Hummingbird decodes only the values.
                let query = request.uri.queryParameters.map {
                    ($0.key.removingPercentEncoding ?? String($0.key), String($0.value))
                }
                let call = ReportCall(
                    endpoint: endpoint, query: query,
                    authorization: request.headers[.authorization],
                    accept: request.headers[.accept],
                    arrived: .machineNow)
                return Response(await self.report(call))
            }
        }
    }

    /// The response to a request: the compressed report, or Apple's error.
    func report(_ call: ReportCall) -> Result<[UInt8], ConnectError> {
        let answer: Result<[UInt8], ConnectError>
        do throws(ConnectError) {
            answer = .success(Gzip.file(of: try call.file(in: self)))
        } catch {
            answer = .failure(error)
        }
        call.log(answer, in: self)
        return answer
    }
}

extension ReportCall {
    /// Maximum seconds from `iat` to `exp` of a token for App Store Connect.
    static let tokenSecondsMax: Int64 = 1200

    fileprivate func file(
        in simulator: isolated AppStoreSimulator
    ) throws(ConnectError) -> [UInt8] {
        if let outage = simulator.faults.apiOutage, outage.includes(simulator.clock.now) {
            throw .outage
        }
        try authorize(in: simulator)
        let wildcards = ["a-gzip", "gzip", "*/*", "application/*"]
        if let accept, !wildcards.contains(where: accept.contains) {
            throw .notAcceptable
        }
        switch endpoint {
        case .sales: return try salesFile(in: simulator)
        case .finance: return try financeFile(in: simulator)
        }
    }

    private func authorize(in simulator: isolated AppStoreSimulator) throws(ConnectError) {
        do throws(BearerToken.Refusal) {
            let token = try BearerToken(
                authorization, keys: simulator.settings.apiKeys, bundleID: nil)
            try token.requireCurrent(
                at: [arrived, simulator.clock.now], secondsMax: Self.tokenSecondsMax)
        } catch {
            simulator.appendToLog(.refusedToken, [("reason", .string(error.reason))])
            throw .unauthorized
        }
    }

    private func salesFile(
        in simulator: isolated AppStoreSimulator
    ) throws(ConnectError) -> [UInt8] {
        let availability = ReportAvailability(calendar: simulator.settings.reports.calendar)
        let request = try SalesReportQuery(query, known: SalesReportQuery.salesFilters)
            .salesRequest(
                simulator.settings.reports, latest: availability.latestDay(at: simulator.clock.now))
        let (first, last) = (request.period.first, request.period.last)
        try availability.check(request.period, at: simulator.clock.now)
        let books = ReportBooks(simulator.world)
        switch request.kind {
        case .sales:
            return try bytes(
                books.salesRows(from: first, to: last), request.version, in: simulator)
        case .subscription:
            return try bytes(books.subscriptionRows(at: last), request.version, in: simulator)
        case .subscriptionEvent:
            return try bytes(books.eventRows(on: last), request.version, in: simulator)
        case .subscriber:
            return try bytes(books.subscriberRows(on: last), request.version, in: simulator)
        case .offerCodeRedemption, .preOrder, .financial: throw .noSales
        }
    }

    private func financeFile(
        in simulator: isolated AppStoreSimulator
    ) throws(ConnectError) -> [UInt8] {
        let request = try SalesReportQuery(query, known: SalesReportQuery.financeFilters)
            .financeRequest(simulator.settings.reports)
        let availability = ReportAvailability(calendar: simulator.settings.reports.calendar)
        try availability.check(request.month, at: simulator.clock.now)
        let rows = ReportBooks(simulator.world)
            .financialRows(of: request.month, region: request.regionCode)
        let isOfAllRegions = request.regionCode == FinanceReportRequest.allRegions
        return try bytes(
            rows, nil, ending: isOfAllRegions ? .countries : .totals, in: simulator)
    }

    private func bytes<Row: SalesReportRow>(
        _ rows: [Row], _ version: SalesReportVersion?, ending: SalesReportEnding = .totals,
        in simulator: isolated AppStoreSimulator
    ) throws(ConnectError) -> [UInt8] {
        guard !rows.isEmpty else { throw .noSales }
        do throws(SalesReportFailure) {
            return try SalesReport(version: version, rows: rows, ending: ending).bytes()
        } catch {
            simulator.appendToLog(.trouble, [("error", .string("\(error)"))])
            throw .internalError
        }
    }

    fileprivate func log(
        _ answer: Result<[UInt8], ConnectError>, in simulator: isolated AppStoreSimulator
    ) {
        let query = query.map { JSON.string("\($0.name)=\($0.value)") }
        let error: ConnectError? =
            switch answer {
            case .success: nil
            case .failure(let error): error
            }
        simulator.appendToLog(
            .call,
            [
                ("endpoint", .string("GET \(endpoint.rawValue)")),
                ("environment", .string(SimulatedEnvironment.production.rawValue)),
                ("query", .array(query)),
                ("status", .integer(Int64(error?.status ?? 200))),
                ("error_code", error.map { .string($0.code) } ?? .null),
            ])
    }
}

extension Response {
    fileprivate init(_ answer: Result<[UInt8], ConnectError>) {
        var headers = HTTPFields()
        let (status, bytes): (Int, [UInt8])
        switch answer {
        case .success(let file):
            headers[.contentType] = "application/a-gzip"
            (status, bytes) = (200, file)
        case .failure(let error):
            headers[.contentType] = "application/json"
            (status, bytes) = (error.status, error.json.bytes)
        }
        headers[.contentLength] = String(bytes.count)
        self.init(
            status: HTTPResponse.Status(code: status), headers: headers,
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }
}

extension SimulatorRoute {
    static let salesReportRoutes = [
        get(
            "/_sim/report-token",
            "A bearer token for sales and financial reports, signed with the well-known key.",
            gives: .json("APIToken")
        ) { simulator, _ in
            let token = try APIKey.wellKnownToken(
                for: nil, at: .machineNow, seconds: ReportCall.tokenSecondsMax)
            return .json(["token": .string(token)])
        }
    ]
}

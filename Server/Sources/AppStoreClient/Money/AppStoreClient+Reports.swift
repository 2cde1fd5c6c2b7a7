import AppStoreFormats

// Sales and financial reports: "Download Sales and Trends Reports" and "Download Finance Reports"
// of the App Store Connect API. These calls need a team key.

/// The result of a request for a report.
package enum ReportDownload: Hashable, Sendable {
    /// The file, compressed with gzip.
    case file([UInt8])
    /// Nothing was sold: there is no file, and Apple will not make one.
    case noSales
    /// Apple has not made the file yet.
    case notYet
    /// Apple no longer has the file.
    case noLonger
    /// Apple does not serve this kind of report with these parameters, for any day.
    case refused(ReportRefusal)
}

/// Why App Store Connect does not serve a report.
package struct ReportRefusal: Hashable, Sendable {
    package var sentence: String
    /// The version of the report that Apple serves, if it says so.
    package var version: SalesReportVersion?
}

extension AppStoreClient {
    private static let accepted = "application/a-gzip, application/json"
    /// HTTP statuses whose meaning for reports is in the text of the error.
    private static let explained: Set<Int> = [400, 403, 404, 410]

    private static let teamKeyRemedy =
        "Compare key_id, issuer_id and the key file under app_store.reports with App Store "
        + "Connect, Users and Access, Integrations: it must be a team key with the role Sales and "
        + "Reports, or Finance."

    /// Downloads a sales and trends report.
    package func report(
        _ request: SalesReportRequest
    ) async throws(AppStoreFailure) -> ReportDownload {
        try await download(.salesReport, "/v1/salesReports", request.queryItems)
    }

    /// Downloads a financial report.
    package func report(
        _ request: FinanceReportRequest
    ) async throws(AppStoreFailure) -> ReportDownload {
        try await download(.financeReport, "/v1/financeReports", request.queryItems)
    }

    private func download(
        _ endpoint: Endpoint, _ path: String, _ query: [(name: String, value: String)]
    ) async throws(AppStoreFailure) -> ReportDownload {
        let response: AppStoreResponse
        do throws(AppStoreFailure) {
            response = try await exchange(
                endpoint, path, query: query.map { ($0.name, $0.value) },
                in: .production, accept: Self.accepted, returned: Self.explained)
        } catch .unauthorized(let reason, _) {
            throw .unauthorized(reason, remedy: Self.teamKeyRemedy)
        }
        switch response.status {
        case 200...299: return .file(response.body)
        case 410: return .noLonger
        default: break
        }
        let error = ConnectProblem(response)
        guard response.status == 404, error.code == "NOT_FOUND" else {
            return .refused(
                ReportRefusal(
                    sentence: "The App Store refused with \(response.status) \(error)",
                    version: error.latestVersion))
        }
        // Apple has one error code for a report without sales and for a report that is not made
        // yet, so the text decides.
        return error.detail.contains("not available yet") ? .notYet : .noSales
    }
}

/// The first error of a response in the form of JSON:API.
private struct ConnectProblem: CustomStringConvertible {
    var code = ""
    var title = ""
    var detail = ""

    /// The maximum number of characters of the error that are quoted.
    private static let quotedMax = 300

    init(_ response: AppStoreResponse) {
        guard let json = try? JSON(parsing: response.body),
            let error = json["errors"]?.array?.first
        else {
            detail = String(decoding: response.body.prefix(Self.quotedMax), as: UTF8.self)
            return
        }
        code = error["code"]?.string ?? ""
        title = error["title"]?.string ?? ""
        detail = String((error["detail"]?.string ?? "").prefix(Self.quotedMax))
    }

    /// The last version that the error's text names, as in "The latest version for this report is
    /// 1_4."
    var latestVersion: SalesReportVersion? {
        guard code.hasPrefix("PARAMETER_ERROR"), detail.lowercased().contains("version") else {
            return nil
        }
        return detail.split { !$0.isNumber && $0 != "_" }
            .compactMap { SalesReportVersion($0) }.last
    }

    var description: String {
        [code, title, detail].filter { !$0.isEmpty }.joined(separator: ": ")
    }
}

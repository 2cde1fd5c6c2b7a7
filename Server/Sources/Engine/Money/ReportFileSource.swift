import AppStoreClient
import AppStoreFormats
import Ledger
import Synchronization

/// The settings for fetching the App Store's report files of one developer.
package struct ReportFileSource: Sendable {
    /// The client, with a team key of App Store Connect.
    package var client: AppStoreClient
    package var vendorNumber: String
    /// The regions of financial reports, such as `US`.
    package var regions: [String]
    /// Decompresses a downloaded file.
    package var decompress: @Sendable ([UInt8]) throws -> [UInt8]

    package init(
        client: AppStoreClient, vendorNumber: String, regions: [String] = ["ZZ"],
        decompress: @escaping @Sendable ([UInt8]) throws -> [UInt8]
    ) {
        self.client = client
        self.vendorNumber = vendorNumber
        self.regions = regions
        self.decompress = decompress
    }
}

/// The results of fetching the files that were due.
package struct ReportFetchOutcome: Hashable, Sendable {
    /// The names of files that were stored.
    package var stored: [String] = []
    /// The names of reports for which Apple has no file, because nothing was sold.
    package var empty: [String] = []
    /// Sentences about files that were not stored, each with its remedy.
    package var troubles: [String] = []
    /// The requests that need not be repeated at once: files that could not be read or do not exist
    /// yet, and reports that Apple refused.
    package var leftOut: Set<String> = []
    /// Whether Apple was not available or refused the key, so that the remaining files were not
    /// requested.
    package var isBrokenOff = false

    package init() {}

    package var count: Int { stored.count + empty.count }
}

/// The versions of reports that Apple serves, if they are not the newest known versions. A new
/// process determines them again.
final class ReportVersions: Sendable {
    private let versions = Mutex<[String: SalesReportVersion]>([:])

    subscript(report: String) -> SalesReportVersion? {
        get { versions.withLock { $0[report] } }
        set { versions.withLock { $0[report] = newValue } }
    }
}

/// The times at which this process repeats failed requests: by app, by report, or by file.
final class ReportFetchPauses: Sendable {
    /// The pause after Apple was not available, refused the key, or had no file yet.
    static let afterFailure = Duration.seconds(1800)
    /// The pause after a file that could not be read, or a report that Apple refused.
    static let afterRefusal = Duration.seconds(86_400)
    /// The maximum number of pauses that are remembered. If there are more, all of them are
    /// forgotten.
    private static let namesMax = 10_000

    private let ends = Mutex<[String: Instant]>([:])

    func isPaused(_ name: String, at now: Instant) -> Bool {
        ends.withLock { $0[name].map { now < $0 } ?? false }
    }

    func pause(_ name: String, until: Instant) {
        ends.withLock {
            if $0.count >= Self.namesMax { $0 = [:] }
            $0[name] = until
        }
    }
}

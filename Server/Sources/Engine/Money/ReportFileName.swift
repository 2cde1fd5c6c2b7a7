import AppStoreFormats
import Ledger

/// What the name of a report file says, if it has the form in which Apple sends it:
/// `S_D_80012345_20261121.txt.gz`, or `80012345_0126_ZZ.txt` of a financial report.
struct ReportFileName {
    let vendorNumber: String?
    /// Of a financial report, such as `US`.
    let region: String?
    /// What distinguishes files of one month: the region, or the whole name if it does not say it.
    let regionKey: String
    /// Counted from 1970-01-01.
    let day: Int64?

    private static let frequencies: Set = ["D", "W", "M", "Y"]
    private static let dayDigits = 8

    init(_ name: String) {
        let parts = name.split { !$0.isLetter && !$0.isNumber }.map(String.init)
        region = parts.last { part in
            part.utf8.count == 2
                && part.utf8.allSatisfy { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) }
        }
        regionKey = region ?? name
        let frequency = parts.firstIndex(where: Self.frequencies.contains)
        let place = frequency.map { $0 + 1 } ?? (region == nil ? nil : 0)
        vendorNumber = place.flatMap { place in
            guard parts.indices.contains(place), Self.isVendorNumber(parts[place]) else {
                return nil
            }
            return parts[place]
        }
        day = Self.day(in: name)
    }

    private static func isVendorNumber(_ text: String) -> Bool {
        (1...SalesReportRequest.vendorDigitsMax).contains(text.utf8.count)
            && text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }

    /// The last eight digits in a row.
    private static func day(in name: String) -> Int64? {
        let parts = name.split { !$0.isNumber }.filter { $0.count == dayDigits }.map(String.init)
        guard let digits = parts.last else { return nil }
        let date = Ledger.CivilDate(
            "\(digits.prefix(4))-\(digits.dropFirst(4).prefix(2))-\(digits.suffix(2))")
        return date?.dayNumber
    }
}

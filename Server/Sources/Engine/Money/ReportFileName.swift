import AppStoreFormats
import Ledger

/// The data in the name of a report file, if the name has the form that Apple uses:
/// `S_D_80012345_20261121.txt.gz`, or `80012345_0126_ZZ.txt` for a financial report.
struct ReportFileName {
    let vendorNumber: String?
    /// The region of a financial report, such as `US`. A file whose name contains no region is
    /// about all regions: App Store Connect gives such a name to its single file.
    let region: String
    /// The day in the name, counted from 1970-01-01. Nil if the name contains none.
    let day: Int64?

    private static let frequencies: Set = ["D", "W", "M", "Y"]
    private static let dayDigits = 8

    init(_ name: String) {
        let parts = name.split { !$0.isLetter && !$0.isNumber }.map(String.init)
            .filter { $0.lowercased() != "gz" }
        let named = Self.region(parts)
        region = named ?? FinanceReportRequest.allRegions
        let frequency = parts.firstIndex(where: Self.frequencies.contains)
        let isFinancial = named != nil || Self.isFinancial(parts)
        let place = frequency.map { $0 + 1 } ?? (isFinancial ? 0 : nil)
        vendorNumber = place.flatMap { place in
            guard parts.indices.contains(place), Self.isVendorNumber(parts[place]) else {
                return nil
            }
            return parts[place]
        }
        day = Self.day(in: name)
    }

    /// The region in a name: two capital letters, or two letters after a part that consists of
    /// digits.
    private static func region(_ parts: [String]) -> String? {
        let place = parts.indices.last { place in
            guard parts[place].utf8.count == 2, parts[place].utf8.allSatisfy(isLetter) else {
                return false
            }
            return parts[place].uppercased() == parts[place]
                || place > 0 && isDigits(parts[place - 1])
        }
        return place.map { parts[$0].uppercased() }
    }

    /// Whether the name consists of a vendor number and a month without a region, as in
    /// `80012345_0126.txt`.
    private static func isFinancial(_ parts: [String]) -> Bool {
        parts.count >= 2 && isVendorNumber(parts[0]) && isDigits(parts[1])
            && parts[1].utf8.count == 4
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte & ~0x20)
    }

    private static func isDigits(_ text: String) -> Bool {
        text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }

    private static func isVendorNumber(_ text: String) -> Bool {
        (1...SalesReportRequest.vendorDigitsMax).contains(text.utf8.count) && isDigits(text)
    }

    /// The day in a name, which is the last group of eight digits.
    private static func day(in name: String) -> Int64? {
        let parts = name.split { !$0.isNumber }.filter { $0.count == dayDigits }.map(String.init)
        guard let digits = parts.last else { return nil }
        let date = Ledger.CivilDate(
            "\(digits.prefix(4))-\(digits.dropFirst(4).prefix(2))-\(digits.suffix(2))")
        return date?.dayNumber
    }
}

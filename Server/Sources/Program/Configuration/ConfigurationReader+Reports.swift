import AppStoreClient
import AppStoreFormats
import Yams

extension ConfigurationReader {
    static let reportsKeys = [
        "issuer_id", "key_id", "private_key_env", "private_key_file", "regions", "vendor_number",
    ]
    /// The maximum number of named regions of financial reports.
    private static let regionsMax = 50

    /// Parses the key for the App Store's report files. Reports a missing or wrong part as a
    /// complaint and returns nil.
    ///
    /// - Parameter simulator: the addresses of a simulated app; nil for a real one.
    mutating func reportsAccess(_ node: Node, simulator: AppStoreHosts?) -> ReportsAccess? {
        let members = members(of: node, known: Self.reportsKeys, in: "app_store.reports")
        let keyID = required("key_id", members, node)
        let issuerID = required("issuer_id", members, node)
        let vendor = required("vendor_number", members, node)
        let privateKey = privateKey(members, node, in: "app_store.reports")
        let regions = regions(members["regions"])
        guard let keyID, let issuerID, let vendor, let (source, pem) = privateKey, let regions
        else { return nil }
        guard isVendorNumber(vendor, members["vendor_number"] ?? node) else { return nil }
        do {
            let credentials = try AppStoreCredentials(
                keyID: keyID, issuerID: issuerID, bundleID: nil, privateKey: pem)
            return ReportsAccess(
                credentials: credentials, hosts: simulator ?? .appleConnect, vendorNumber: vendor,
                regions: regions)
        } catch {
            complain(
                source, "\(text(source) ?? "…") contains no private key.",
                "Use the .p8 file of a team key of App Store Connect, unchanged.")
            return nil
        }
    }

    private mutating func required(
        _ key: String, _ members: [String: Node], _ place: Node
    ) -> String? {
        if let text = members[key].flatMap(nonEmptyText) { return text }
        complain(
            members[key] ?? place, "app_store.reports has no \(key).",
            key == "vendor_number"
                ? "Add it, as App Store Connect shows it under Payments and Financial Reports."
                : "Add it, as App Store Connect shows it under Users and Access, Integrations.")
        return nil
    }

    private mutating func isVendorNumber(_ text: String, _ place: Node) -> Bool {
        let day = SalesReportRequest.Period.day(CivilDate(year: 2026, month: 1, day: 1))
        do {
            _ = try SalesReportRequest(.sales, day, vendorNumber: text)
            return true
        } catch {
            complain(
                place, "“\(text)” is not a vendor number.",
                "Write its digits in quotation marks, such as \"80012345\".")
            return false
        }
    }

    /// Parses the regions. Returns nil if the regions are invalid.
    private mutating func regions(_ node: Node?) -> [String]? {
        guard let node else { return [FinanceReportRequest.allRegions] }
        let texts = (node.sequence.map { Array($0) } ?? [node]).compactMap { text($0) }
        let areCodes = texts.allSatisfy { code in
            code.utf8.count == 2
                && code.utf8.allSatisfy { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) }
        }
        guard (1...Self.regionsMax).contains(texts.count), areCodes else {
            complain(
                node, "regions is not a list of regions.",
                "Write codes of financial reports, such as [US, EU], or ZZ for all in one file.")
            return nil
        }
        return texts
    }
}

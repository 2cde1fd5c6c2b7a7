import AppStoreFormats
import Testing

@testable import Simulator

/// Reads responses and notifications that others have published. Our types must know every key that
/// Apple writes, and must write it as it was read.
@Suite struct LegacySampleTests {
    /// The beginnings of names of samples that were edited by their publishers, or come from other
    /// mock servers. These samples are read, but not compared.
    private static let edited = [
        "01-", "02-", "03-", "05-", "06-", "08-", "11-", "13-early", "15-", "16-", "23-", "37-",
    ]

    private static let answers = LegacyVectors.files("verify-receipt-samples", ending: ".json")

    private static let notifications = LegacyVectors.files(
        "v1-notification-samples", ending: ".json")

    private func unedited(_ paths: [String]) -> [String] {
        paths.filter { path in
            let name = path.split(separator: "/").last ?? ""
            return !Self.edited.contains { name.hasPrefix($0) }
        }
    }

    /// Sorts the keys of every object, at every depth: the order of keys differs between Apple's
    /// own machines.
    private func sorted(_ json: JSON) -> JSON {
        switch json {
        case .object(let members):
            let inner = members.map { JSON.Member($0.key, sorted($0.value)) }
            return .object(inner.filter { $0.key != "_comment" }.sorted { $0.key < $1.key })
        case .array(let values): return .array(values.map(sorted))
        default: return json
        }
    }

    private func isOfTransaction(_ json: JSON) -> Bool { json["receipt"]?["bid"] != nil }

    @Test(.enabled(if: LegacyVectors.arePresent))
    func `sample answers of verifyReceipt are written as they were read`() throws {
        let paths = unedited(Self.answers)
        #expect(paths.count > 45)
        for path in paths {
            let json = try LegacyVectors.json(path)
            if isOfTransaction(json) {
                let answer = try require(VerifyReceiptTransactionResponse(json: json), path)
                #expect(sorted(answer.json) == sorted(json), "\(path)")
                #expect(answer.unknown.isEmpty && answer.receipt?.unknown.isEmpty == true)
            } else {
                let answer = try require(VerifyReceiptResponse(json: json), path)
                try check(answer, json, path)
            }
        }
    }

    private func check(_ answer: VerifyReceiptResponse, _ json: JSON, _ path: String) throws {
        // Intermediaries write the flag `is-retryable` in three ways; we write one of them.
        let isLoose = path.contains("E21104") || path.contains("E21105")
        if !isLoose { #expect(sorted(answer.json) == sorted(json), "\(path)") }
        let unknown = answer.unknown.map(\.key).filter { $0 != "_comment" }
        #expect(unknown.isEmpty, "\(path)")
        // A `download_id` of null is not a number, so it is unknown.
        let unknownOfApp = answer.receipt?.unknown.map(\.key).filter { $0 != "download_id" }
        #expect(unknownOfApp ?? [] == [], "\(path)")
        let rows = (answer.latestRows ?? []) + (answer.receipt?.purchases ?? [])
        let renewals = answer.renewals ?? []
        #expect(rows.flatMap(\.unknown) + renewals.flatMap(\.unknown) == [], "\(path)")
    }

    @Test(.enabled(if: LegacyVectors.arePresent))
    func `sample notifications of version 1 are written as they were read`() throws {
        #expect(Self.notifications.count > 25)
        // The last sample was published only in part.
        for path in Self.notifications where !path.contains("/15-") {
            let json = try LegacyVectors.json(path)
            let notification = try require(V1Notification(json: json), path)
            #expect(sorted(notification.json) == sorted(typed(json)), "\(path)")
            let unknown = notification.unknown.map(\.key).filter { $0 != "_comment" }
            #expect(unknown.isEmpty, "\(path)")
            let rows = notification.unifiedReceipt?.latestRows ?? []
            #expect(rows.flatMap(\.unknown) == [], "\(path)")
        }
    }

    /// Returns a notification with `original_transaction_id` as a number, as in production. In
    /// some publications it is a text.
    private func typed(_ json: JSON) -> JSON {
        .object(
            (json.members ?? []).map { member in
                guard member.key == "original_transaction_id", let text = member.value.string,
                    let number = Int64(text)
                else { return member }
                return JSON.Member(member.key, .integer(number))
            })
    }

    @Test(.enabled(if: LegacyVectors.arePresent))
    func `manually edited sample answers are read by the dates in their milliseconds fields`()
        throws
    {
        for path in Self.answers {
            #expect(VerifyReceiptResponse(json: try LegacyVectors.json(path)) != nil, "\(path)")
        }
        let cancelled = try require(Self.answers.first { $0.contains("/02-") }, "no sample 02")
        let json = try LegacyVectors.json(cancelled)
        let row = VerifyReceiptResponse(json: json)?.latestRows?.first
        let written = json["latest_receipt_info"]?.array?.first?["cancellation_date_ms"]?.string
        #expect(row?.cancelled?.milliseconds == written.flatMap { Int64($0) })
        #expect(row?.cancelled != nil)
    }
}

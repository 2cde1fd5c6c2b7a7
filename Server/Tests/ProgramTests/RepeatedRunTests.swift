import Foundation
import Testing

/// Compares two processes that have the same seed. Swift's hashes differ in each process, so such a
/// test shows whether an order depends on a set or a dictionary.
@Suite struct RepeatedRunTests {
    /// The script writes the books and every signed document of random customers.
    private static let population = """
        "$perennial" simulate --population 1010 --months 1 --seed 7 --deterministic --data . \\
            --out books 2>/dev/null
        "$perennial" simulate --population 30 --months 6 --seed 7 --deterministic --data . \\
            --out fewer --notifications signed 2>/dev/null
        sha256sum books fewer signed
        wc -l <signed
        """

    @Test func `two processes with one seed write the same ground truth and signed documents`()
        async throws
    {
        let one = try await BuiltProgram.output(of: Self.population)
        let other = try await BuiltProgram.output(of: Self.population)
        #expect(one == other)
        let lines = one.split(separator: "\n").map(String.init)
        #expect(lines.count == 6 && lines[0].contains(#""accounts":1010"#))
        #expect(Int(lines[5].trimmingCharacters(in: .whitespaces)) ?? 0 > 60)
    }

    /// The script requests everything from a simulator over HTTP.
    private static let visit = """
        "$perennial" simulate --port 0 --seed 7 --deterministic --data . >started 2>log &
        trap "kill $!" EXIT
        until grep -qs http started; do sleep 0.05; done
        at="$(sed 's/.*http/http/' started)"
        ask() { curl --silent --fail-with-body --max-time 300 "$at$@"; }
        # Somebody who answers each notification with an error.
        old="$at/_sim/health"
        ask /_sim/reset -d "{\\"shop\\": \\"full\\", \\"v1_notification_url\\": \\"$old\\"}"
        ask /_sim/faults -d '{"notifications": {"drop": 0.1, "forged": 0.1, "reorder": 0.1}}' \\
            >/dev/null
        ask /_sim/devices -d '{"account": "anna", "family": "f"}'
        ask /_sim/devices -d '{"account": "ben", "family": "f"}'
        ask /_sim/devices/anna-1/purchases -d '{"product_id": "family.monthly"}' >bought
        for product in atlas tiers.silver weeks.one years.promised; do
            ask /_sim/devices/anna-1/purchases -d "{\\"product_id\\": \\"$product\\"}"
        done
        cat bought
        ask /_sim/populations -d '{"accounts": 12, "within": "P3M"}'
        ask /_sim/clock -d '{"advance": "P3M"}'
        id="$(sed 's/.*"transaction_id":"\\([0-9]*\\)".*/\\1/' bought)"
        ask "/_sim/transactions/$id/receipt"
        receipt="$(ask '/_sim/devices/ben-1/receipt?only=app_receipt')"
        secret=c0ffee00c0ffee00c0ffee00c0ffee00
        ask /verifyReceipt \\
            -d "{\\"receipt-data\\": \\"$receipt\\", \\"password\\": \\"$secret\\"}"
        token="$(ask '/_sim/api-token?only=token')"
        for path in v1/subscriptions v2/history v1/transactions/appTransactions; do
            ask "/inApps/$path/$id" -H "Authorization: Bearer $token"
        done
        for path in transactions entitlements unfinished statuses app-transaction; do
            ask "/_sim/devices/anna-1/$path"
        done
        for number in $(seq 1 12); do ask "/_sim/truth/life-1-$number" || true; done
        for path in notifications log faults; do ask "/_sim/$path"; done
        ask /_sim/root.cer | sha256sum
        ask /_sim/receipt-root.cer | sha256sum
        """

    // The test is skipped without curl.
    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: TourTests.curl)))
    func `two processes with one seed return the same bytes over HTTP`() async throws {
        let one = try await BuiltProgram.output(of: Self.visit)
        let other = try await BuiltProgram.output(of: Self.visit)
        #expect(one.contains(#""state":"#) && one.utf8.count > 500_000)
        let differing = zip(one.split(separator: "\n"), other.split(separator: "\n"))
            .first { $0 != $1 }
        #expect(one == other, "\(String(describing: differing).prefix(2000))")
    }
}

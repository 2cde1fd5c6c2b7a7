import Eventually
import Foundation
import Testing

/// The counts of `bin/structure` that have a goal. A count that has reached its goal must stay
/// within it; any other count may only shrink.
///
/// If you reduce a count, write the new number here.
@Suite struct StructureCountTests {
    private static let ceilings = [
        "functions of Storage.DatabaseSession": 40,
        "functions of Engine.Engine": 40,
        "functions of Simulator.AppStoreSimulator": 192,
        "functions of Simulator.World": 204,
        "functions of HTTPServer.PerennialServer": 40,
        "functions of Perennial.Engine": 163,
        "functions of Convergence.Trial": 145,
        "functions of HTTPServer.DashboardRoutes": 40,
        "types with more than 40 functions": 10,
        "stored properties of the SDK's Engine": 36,
        "functions with which Engine extends Storage's DatabaseSession": 0,
        "functions with which Engine extends other types of Storage": 20,
        "typealiases in Engine of another module's type": 0,
        "lines of files in Storage that emit events (decisions": 0,
        "columns read by position": 0,
        "moment types": 3,
        "civil calendars (files with the days of 400 years)": 3,
        "JSON parsers": 3,
        "JSON writers": 4,
        "OpenAPI builders": 1,
        "live-stream loops": 2,
        "enum CodingKeys": 110,
        "type names that stand in several modules": 63,
    ]

    @Test func `no count of bin/structure exceeds its ceiling`() async throws {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["python3", Repository.root.appending(path: "bin/structure").path]
        let (status, bytes) = try await process.output()
        guard status != 127 else { return print("skipped: no python3") }
        let counts = Self.counts(in: String(decoding: bytes, as: UTF8.self))
        for (name, ceiling) in Self.ceilings.sorted(by: { $0.key < $1.key }) {
            let count = try #require(counts[name], "bin/structure prints no row \(name)")
            #expect(
                count <= ceiling,
                "\(name): \(count). Put the new ones on a type of their own: see ARCHITECTURE.md.")
        }
    }

    /// The values of the column "now", by the name of the row without the text after a comma, which
    /// varies.
    private static func counts(in table: String) -> [String: Int] {
        var counts: [String: Int] = [:]
        for line in table.split(separator: "\n") {
            let cells = line.split(separator: "|").map { $0.trimmingPrefix(while: \.isWhitespace) }
            guard cells.count == 4, let name = cells[0].split(separator: ",").first,
                let count = Int(cells[2].prefix { $0.isNumber || $0 == "," }.filter(\.isNumber))
            else { continue }
            counts[name.trimmingCharacters(in: .whitespaces)] = count
        }
        return counts
    }
}

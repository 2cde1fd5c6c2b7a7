import Foundation
import PerennialContract
import Testing

@testable import HTTPServer

@Suite struct ProblemCatalogueTests {
    @Test func `every code of the contract has one entry in the catalogue`() {
        let codes = ProblemCatalogue.entries.map(\.code)
        #expect(Set(codes) == Set(ProblemCode.known))
        #expect(Set(codes).count == codes.count)
        #expect(Set(ProblemCode.known).count == ProblemCode.known.count)
    }

    @Test func `the source states the status of each code once`() throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../Sources/HTTPServer/Problems")
        let stated = try FileManager.default.contentsOfDirectory(
            at: folder, includingPropertiesForKeys: nil
        ).flatMap { file in
            try String(contentsOf: file, encoding: .utf8)
                .matches(of: /\b(?:Self|Entry)\(\s*\.(\w+),\s*\./).map { String($0.1) }
        }
        #expect(stated.count == ProblemCatalogue.entries.count)
        #expect(Set(stated).count == stated.count)
    }

    @Test func `docs/api.md lists every code with its status, and no others`() throws {
        var documented: [String] = []
        for cells in try Page.table("| code | status | when |", of: "api.md") {
            let codes = Page.words(in: cells[0])
            let statuses = cells[1].split(separator: ", ").map(String.init)
            // Several codes share one status, or each has its own.
            let all = statuses.count == 1 ? codes.map { _ in statuses[0] } : statuses
            try #require(all.count == codes.count, "\(cells[0])")
            documented += zip(codes, all).map { "\($0) \($1)" }
        }
        let entries = ProblemCatalogue.entries.map { "\($0.code.rawValue) \($0.status.code)" }
        #expect(documented.sorted() == entries.sorted())
    }
}

import AppStoreTrust
import Engine
import Foundation
import Ledger
import PerennialContract
import Storage
import Testing

@testable import HTTPServer

@Suite struct ProblemCatalogueTests {
    @Test func `every code of the contract has one entry in the catalogue`() {
        let codes = ProblemCatalogue.entries.map(\.code)
        #expect(Set(codes) == Set(ProblemCode.known))
        #expect(Set(codes).count == codes.count)
        #expect(Set(ProblemCode.known).count == ProblemCode.known.count)
    }

    @Test func `the contract's list of problem codes has every code that is declared`() throws {
        let file = Self.root.appending(path: "Sources/PerennialContract/ProblemCode.swift")
        let declared = try String(contentsOf: file, encoding: .utf8)
            .matches(of: /static let \w+ = Self\(\s*rawValue: "(\w+)"\)/).map { String($0.1) }
        #expect(declared.sorted() == ProblemCode.known.map(\.rawValue).sorted())
    }

    @Test
    func `each problem code has a status of 400 or more, and its title and remedy are sentences`() {
        for entry in ProblemCatalogue.entries + ProblemCatalogue.pageEntries {
            #expect((400..<600).contains(entry.status.code), "\(entry.code)")
            for text in [entry.title, entry.remedy] {
                #expect(text.count > 1 && text.hasSuffix("."), "\(entry.code): \(text)")
            }
        }
    }

    @Test func `the code and the status of a failure do not depend on its text`() {
        for failure in Self.failuresWithOwnTexts {
            let rows: [(ProblemError.Subject, ProblemCode)] = [
                (.notification, failure.row.notificationCode), (.purchases, failure.row.code),
                (.customer, failure.row.code),
            ]
            for (subject, code) in rows {
                let problem = ProblemError(failure, subject: subject).problem
                #expect(problem.code == code, "\(failure)")
                #expect(problem.status == ProblemCatalogue.Entry.of(code).status.code)
            }
        }
    }

    private static var failuresWithOwnTexts: [EngineFailure] {
        let purchase = PurchaseID("1", in: .production)
        var failures: [EngineFailure] = [
            .legacyDisabled("birds"), .tooManyIDs(limit: 1), .queryTooLong(limit: 1),
            .offerForUnknownTransaction("1"), .unknownCurrency("gems", known: []),
            .unknownCurrency("gems", known: ["seeds"]),
            .unknownContent("letter", isListed: true),
            .unknownContent("letter", isListed: false), .unavailableInSandbox(.file),
            .unavailableInSandbox(.signature), .unknownReport("a", known: ["b"]),
            .notManager("ben"), .outdatedCursor(goOnFrom: nil),
            .outdatedCursor(goOnFrom: LogPosition(nil, 7)),
        ]
        for reason in Refusal.Reason.allCases {
            for subject in [Refusal.Subject.document, .receipt] {
                failures.append(
                    .notTrusted(Refusal(reason, expected: "a", found: "b", of: subject)))
            }
        }
        for why in OwnershipClaim.Refusal.allCases {
            failures.append(.belongsToAnotherCustomer(purchase, why))
        }
        let defects: [IdentityProof.Defect] = [
            .missing, .wrong, .expired, .notYet, .endless, .ofOneOnly,
        ]
        failures += defects.map { .identityNotProven($0) }
        return failures
    }

    private static let root = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../..")

    @Test func `the source code states the status of each problem code once`() throws {
        let folder = Self.root.appending(path: "Server/Sources/HTTPServer/Problems")
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
            // The codes of a row have one status for all of them, or one status for each.
            let all = statuses.count == 1 ? codes.map { _ in statuses[0] } : statuses
            try #require(all.count == codes.count, "\(cells[0])")
            documented += zip(codes, all).map { "\($0) \($1)" }
        }
        let entries = ProblemCatalogue.entries.map { "\($0.code.rawValue) \($0.status.code)" }
        #expect(documented.sorted() == entries.sorted())
    }
}

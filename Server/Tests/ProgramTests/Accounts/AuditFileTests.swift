import Engine
import Foundation
import Ledger
import Storage
import Testing

@testable import Program

@Suite struct AuditFileTests {
    /// Two years after the first acts.
    private static let signedAt = Instant(milliseconds: 0) + .days(730)

    private static let acts = (1...4).map { number in
        RecordedAct(
            app: "birds", at: Instant(milliseconds: Int64(number) * 1000),
            id: String(repeating: "\(number)", count: 32), author: "mira", act: "customers.grants",
            customer: "anna", subject: "grant_\(number)", after: #"{"until":"2027"}"#)
    }

    private static func lines(of acts: [RecordedAct] = acts) throws -> [String] {
        var writer = AuditFile.Writer()
        let lines = try acts.map { try writer.line(of: $0) }
        return lines + [try writer.lastLine(signature: "a.b.c")]
    }

    private static func read(_ lines: [String]) throws -> AuditFile {
        let path = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: path) }
        try Data(lines.joined().utf8).write(to: path)
        return try AuditFile(at: path.path)
    }

    @Test func `an audit file is read with all the entries that were written`() throws {
        let file = try Self.read(try Self.lines())
        #expect(file.entries.map(\.subject) == Self.acts.map(\.subject))
        #expect(file.signature == "a.b.c")
        let empty = try Self.read(try Self.lines(of: []))
        #expect(empty.entries.isEmpty && empty.digest == AuditFile.start)
    }

    @Test func `an audit file in which any line is removed, doubled or swapped is refused`() throws
    {
        let lines = try Self.lines()
        for index in lines.indices {
            var removed = lines
            removed.remove(at: index)
            #expect(throws: StartFailure.self, "line \(index)") { try Self.read(removed) }
            var doubled = lines
            doubled.insert(lines[index], at: index)
            #expect(throws: StartFailure.self, "line \(index)") { try Self.read(doubled) }
            guard index > 0 else { continue }
            var swapped = lines
            swapped.swapAt(index, index - 1)
            #expect(throws: StartFailure.self, "line \(index)") { try Self.read(swapped) }
        }
        #expect(throws: StartFailure.self) { try Self.read([]) }
        #expect(throws: StartFailure.self) { try Self.read([lines.joined() + "x"]) }
    }

    /// A change of the last entry shows only in the signature's claims.
    @Test func `an audit file with a changed value is refused, or contradicts the signed claims`()
        throws
    {
        var writer = AuditFile.Writer()
        for act in Self.acts { _ = try writer.line(of: act) }
        let claims = writer.claims(about: "birds", at: .init(milliseconds: 0))
        #expect(try Self.read(try Self.lines()).agrees(with: claims, about: "birds"))
        #expect(try !Self.read(try Self.lines()).agrees(with: claims, about: "bees"))
        for index in Self.acts.indices {
            var lines = try Self.lines()
            lines[index] = lines[index].replacing("mira", with: "eve")
            guard let file = try? Self.read(lines) else { continue }
            #expect(!file.agrees(with: claims, about: "birds"), "line \(index)")
        }
        // Somebody may write all lines again, but the signed claims stay the same.
        let fewer = try Self.read(try Self.lines(of: Self.acts.dropLast()))
        #expect(!fewer.agrees(with: claims, about: "birds"))
    }

    @Test func `a later audit file must repeat the entries of an earlier file`() throws {
        let earlier = try Self.read(try Self.lines())
        #expect(earlier.difference(from: earlier, signedAt: Self.signedAt) == nil)
        func later(_ change: (inout RecordedAct) -> Void) throws -> AuditFile {
            var acts = Self.acts
            change(&acts[1])
            return try Self.read(try Self.lines(of: acts))
        }
        // The customer was erased since.
        #expect(
            try later { $0.customer = "erased_1" }.difference(
                from: earlier, signedAt: Self.signedAt) == nil)
        let changes: [(inout RecordedAct) -> Void] = [
            { $0.author = "eve" }, { $0.act = "customers.blocks" }, { $0.subject = "grant_9" },
            { $0.after = #"{"until":"2028"}"# }, { $0.after = nil }, { $0.customer = nil },
            { $0.at = Instant(milliseconds: 1) },
        ]
        for (number, change) in changes.enumerated() {
            let found = try later(change).difference(from: earlier, signedAt: Self.signedAt)
            #expect(found?.auditID == earlier.entries[1].auditID, "change \(number)")
        }
        let fewer = try Self.read(try Self.lines(of: Array(Self.acts.dropFirst())))
        #expect(
            fewer.difference(from: earlier, signedAt: Self.signedAt)?.auditID
                == earlier.entries[0].auditID)
        #expect(earlier.difference(from: fewer, signedAt: Self.signedAt) == nil)
        // An act whose result was not known yet.
        let begun = try later { $0.after = nil }
        #expect(earlier.difference(from: begun, signedAt: Self.signedAt) == nil)
    }

    /// The report of a deletion.
    private static func report(_ count: Int, before: Instant, at: Instant = signedAt)
        -> RecordedAct
    {
        RecordedAct(
            app: "birds", at: at, id: String(repeating: "f", count: 32), author: "retention",
            act: RetentionService.auditAct, after: #"{"before":"\#(before)","removed":"\#(count)"}"#
        )
    }

    @Test func `entries that retention has deleted may be missing in a later audit file`() throws {
        let earlier = try Self.read(try Self.lines())
        let third = Instant(milliseconds: 3000)
        // The file has the newest entries first.
        let acts = [Self.report(2, before: third)] + Self.acts.suffix(2)
        let later = try Self.read(try Self.lines(of: acts))
        #expect(later.difference(from: earlier, signedAt: Self.signedAt) == nil)
        #expect(later.deletion?.removed == 2 && later.deletion?.before == third)
        #expect(earlier.deletion == nil)
        // The report accounts for no change of an entry that is still there.
        var changed = acts
        changed[1].author = "eve"
        let other = try Self.read(try Self.lines(of: changed))
        #expect(other.difference(from: earlier, signedAt: Self.signedAt)?.subject == "grant_3")
    }

    @Test
    func `a deletion report does not excuse more missing entries, or newer ones, than allowed`()
        throws
    {
        let earlier = try Self.read(try Self.lines())
        let third = Instant(milliseconds: 3000)
        func difference(_ report: RecordedAct, signedAt: Instant = Self.signedAt) throws -> String?
        {
            let later = try Self.read(try Self.lines(of: [report] + Self.acts.suffix(2)))
            return later.difference(from: earlier, signedAt: signedAt)?.subject
        }
        #expect(try difference(Self.report(2, before: third)) == nil)
        #expect(try difference(Self.report(1, before: third)) == "grant_2")
        let second = Instant(milliseconds: 2000)
        #expect(try difference(Self.report(2, before: second)) == "grant_2")
        // Somebody gives a false report the time of a later year, but cannot sign it.
        let soon = Instant(milliseconds: 0) + .days(300)
        #expect(try difference(Self.report(2, before: third), signedAt: soon) == "grant_1")
        // An earlier file knew of the same deletion already.
        let before = try Self.read(
            try Self.lines(of: [Self.report(2, before: third)] + Self.acts))
        let later = try Self.read(
            try Self.lines(of: [Self.report(2, before: third)] + Self.acts.suffix(2)))
        #expect(later.difference(from: before, signedAt: Self.signedAt)?.subject == "grant_1")
    }
}

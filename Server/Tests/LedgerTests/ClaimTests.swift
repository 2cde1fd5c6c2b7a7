import Foundation
import Ledger
import Testing

/// A row of `Tables/claims.txt`.
private struct ClaimRow: CustomTestStringConvertible, Sendable {
    var text: String
    var claim: OwnershipClaim
    var verdicts: [String]
    var testDescription: String { text }

    init(_ line: String) throws {
        text = line
        guard let match = line.wholeMatch(of: #/(\w+)(?: by (\w+))?, names (\w+)(.*): (.+)/#) else {
            throw Unreadable(line: line)
        }
        let flags = match.4.split(separator: ", ").map(String.init)
        claim = OwnershipClaim(
            owner: match.2.flatMap { OwnershipClaim.Evidence(rawValue: String($0)) }.map {
                OwnershipClaim.Owner(
                    CustomerID(rawValue: String(match.1)), by: $0,
                    isBlocked: flags.contains("blocked"))
            },
            named: match.3 == "nobody" ? nil : CustomerID(rawValue: String(match.3)),
            claimant: "ben", isShared: flags.contains("shared"),
            isInUse: flags.contains("in use"), isUsedUp: flags.contains("used up"),
            isUnspent: flags.contains("unspent"), sharers: flags.contains("full") ? 5 : 4,
            documentAge: .days(flags.contains("old document") ? 31 : 30))
        verdicts = match.5.components(separatedBy: " | ")
    }

    struct Unreadable: Error { var line: String }

    static func all() throws -> [ClaimRow] {
        let file = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "Tables/claims.txt")
        return try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
            .filter { !$0.hasPrefix("#") }.map { try ClaimRow(String($0)) }
    }
}

extension OwnershipClaim.Verdict {
    fileprivate var text: String {
        switch self {
        case .alreadyTheirs: "theirs"
        case .link(let evidence): "link \(evidence.rawValue)"
        case .move(let evidence): "move \(evidence.rawValue)"
        case .share: "share"
        case .refuse(let refusal): refusal.rawValue
        }
    }
}

@Suite struct ClaimTests {
    @Test func `each claim comes out as the table says, under each policy`() throws {
        let rows = try ClaimRow.all()
        #expect(rows.count == 27)
        for row in rows {
            let found = OwnershipClaim.RestorePolicy.allCases.map {
                row.claim.verdict(under: $0).text
            }
            #expect(found == row.verdicts, "\(row.text)")
        }
    }

    @Test func `a purchase is shared with as many as the rules say, by what was signed lately`() {
        var claim = OwnershipClaim(
            owner: .init("anna", by: .device), named: nil, claimant: "ben", sharers: 2,
            documentAge: .days(30))
        #expect(claim.verdict(under: .share, sharing: .init(most: 3)) == .share)
        #expect(
            claim.verdict(under: .share, sharing: .init(most: 2)) == .refuse(.sharedWithMost))
        claim.documentAge = .days(30) + .milliseconds(1)
        #expect(claim.verdict(under: .share) == .refuse(.documentTooOld))
        // One from a clock that is a little ahead of ours is new.
        claim.documentAge = .seconds(-60)
        #expect(claim.verdict(under: .share) == .share)
        claim.documentAge = nil
        #expect(claim.verdict(under: .share) == .refuse(.documentTooOld))
    }

    @Test func `somebody of whom nothing is known takes nothing that names another`() {
        let claim = OwnershipClaim(owner: nil, named: "cleo", claimant: nil)
        for policy in OwnershipClaim.RestorePolicy.allCases {
            #expect(claim.verdict(under: policy) == .refuse(.namesAnother))
        }
    }

    @Test func `a device of somebody never heard of takes nothing that is kept`() {
        let claim = OwnershipClaim(owner: .init("anna", by: .device), named: nil, claimant: nil)
        #expect(claim.verdict(under: .keep) == .refuse(.kept))
        #expect(claim.verdict(under: .transfer) == .move(by: .device))
    }

    /// A claim by ben to what anna has, who has not signed in.
    private func claim(isAnonymous: Bool) -> OwnershipClaim {
        var claim = OwnershipClaim(
            owner: .init("anna", by: .device), named: nil, claimant: "ben", sharers: 5,
            documentAge: .days(31))
        claim.owner?.isAnonymous = true
        claim.isClaimantAnonymous = isAnonymous
        return claim
    }

    @Test(arguments: OwnershipClaim.RestorePolicy.allCases)
    func `two customers who have not signed in both have it, whatever the policy and the intent`(
        policy: OwnershipClaim.RestorePolicy
    ) {
        var claim = claim(isAnonymous: true)
        for intent in [nil, .purchase, .restore, .sync] as [OwnershipClaim.Intent?] {
            claim.intent = intent
            #expect(claim.verdict(under: policy) == .share)
        }
        claim.isShared = true
        #expect(claim.verdict(under: policy) == .alreadyTheirs)
        claim.isShared = false
        claim.isShareUndone = true
        #expect(claim.verdict(under: policy) == .refuse(.decidedBySupport))
        claim.isShareUndone = false
        claim.sharers = OwnershipClaim.ShareRules.anonymousMost
        #expect(claim.verdict(under: policy) == .refuse(.sharedWithMost))
    }

    @Test(arguments: OwnershipClaim.RestorePolicy.allCases)
    func `a person who asks gets it from a device without log-in, with a new document`(
        policy: OwnershipClaim.RestorePolicy
    ) {
        var claim = claim(isAnonymous: false)
        var ofPerson = claim
        ofPerson.owner?.isAnonymous = false
        #expect(claim.verdict(under: policy) == ofPerson.verdict(under: policy))
        claim.intent = .restore
        #expect(claim.verdict(under: policy) == .refuse(.documentTooOld))
        claim.isShared = true
        #expect(claim.verdict(under: policy) == .alreadyTheirs)
        claim.isShared = false
        claim.documentAge = .days(30)
        #expect(claim.verdict(under: policy) == .move(by: .device))
        claim.intent = .sync
        #expect(claim.verdict(under: policy) == .refuse(.needsRestore))
        claim.intent = .restore
        claim.owner?.evidence = .support
        #expect(claim.verdict(under: policy) == .refuse(.decidedBySupport))
        claim.owner?.evidence = .device
        claim.owner?.isBlocked = true
        #expect(claim.verdict(under: policy) == .refuse(.blocked))
    }
}

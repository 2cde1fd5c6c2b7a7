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
        case .shareInstead(let other): "share instead of \(other)"
        case .refuse(let refusal): refusal.rawValue
        }
    }
}

@Suite struct ClaimTests {
    @Test func `each claim gets the verdict in the table under each policy`() throws {
        let rows = try ClaimRow.all()
        #expect(rows.count == 27)
        for row in rows {
            let found = OwnershipClaim.RestorePolicy.allCases.map {
                row.claim.verdict(under: $0).text
            }
            #expect(found == row.verdicts, "\(row.text)")
        }
    }

    @Test func `a purchase is shared only with a recent document, up to the limit of customers`() {
        var claim = OwnershipClaim(
            owner: .init("anna", by: .device), named: nil, claimant: "ben", sharers: 2,
            documentAge: .days(30))
        #expect(claim.verdict(under: .share, sharing: .init(most: 3)) == .share)
        #expect(
            claim.verdict(under: .share, sharing: .init(most: 2)) == .refuse(.sharedWithMost))
        claim.documentAge = .days(30) + .milliseconds(1)
        #expect(claim.verdict(under: .share) == .refuse(.documentTooOld))
        // A document counts as new if its signer's clock is slightly ahead of ours.
        claim.documentAge = .seconds(-60)
        #expect(claim.verdict(under: .share) == .share)
        claim.documentAge = nil
        #expect(claim.verdict(under: .share) == .refuse(.documentTooOld))
    }

    @Test func `an unknown customer cannot claim a purchase that names another customer`() {
        let claim = OwnershipClaim(owner: nil, named: "cleo", claimant: nil)
        for policy in OwnershipClaim.RestorePolicy.allCases {
            #expect(claim.verdict(under: policy) == .refuse(.namesAnother))
        }
    }

    @Test func `an unknown customer cannot claim an owned purchase under the policy keep`() {
        let claim = OwnershipClaim(owner: .init("anna", by: .device), named: nil, claimant: nil)
        #expect(claim.verdict(under: .keep) == .refuse(.kept))
        #expect(claim.verdict(under: .transfer) == .move(by: .device))
    }

    /// A claim by ben, with a new document, to a purchase of anna, who has not signed in.
    private func claim(isAnonymous: Bool) -> OwnershipClaim {
        var claim = OwnershipClaim(
            owner: .init("anna", by: .device), named: nil, claimant: "ben", sharers: 5,
            documentAge: .days(30))
        claim.owner?.isAnonymous = true
        claim.isClaimantAnonymous = isAnonymous
        return claim
    }

    private static let intents: [OwnershipClaim.Intent?] = [nil, .purchase, .restore, .sync]

    @Test(arguments: OwnershipClaim.RestorePolicy.allCases)
    func `with a recent document, two anonymous customers share a purchase under every policy`(
        policy: OwnershipClaim.RestorePolicy
    ) {
        var claim = claim(isAnonymous: true)
        for intent in Self.intents {
            claim.intent = intent
            claim.documentAge = .days(30)
            #expect(claim.verdict(under: policy) == .share)
            // An old document may be a copy, so it does not prove that the device belongs to the
            // store account.
            for age in [.days(31), nil] as [Duration?] {
                claim.documentAge = age
                #expect(claim.verdict(under: policy) == .refuse(.documentTooOld))
            }
        }
        claim.isShared = true
        #expect(claim.verdict(under: policy) == .alreadyTheirs)
        claim.isShared = false
        claim.documentAge = .days(30)
        claim.isShareUndone = true
        #expect(claim.verdict(under: policy) == .refuse(.decidedBySupport))
    }

    @Test(arguments: OwnershipClaim.RestorePolicy.allCases)
    func `if anonymous shares run out, a newer document takes the share with the oldest document`(
        policy: OwnershipClaim.RestorePolicy
    ) {
        var claim = claim(isAnonymous: true)
        claim.sharers = OwnershipClaim.ShareRules.anonymousMostDefault
        #expect(claim.verdict(under: policy) == .refuse(.sharedWithMost))
        claim.weakestShare = .init("cleo", documentAge: .days(30))
        #expect(claim.verdict(under: policy) == .refuse(.sharedWithMost))
        claim.documentAge = .days(30) - .milliseconds(1)
        #expect(claim.verdict(under: policy) == .shareInstead(of: "cleo"))
        #expect(
            claim.verdict(under: policy, sharing: .init(anonymousMost: 101)) == .share)
        claim.weakestShare?.documentAge = .days(40)
        claim.documentAge = .days(31)
        #expect(claim.verdict(under: policy) == .refuse(.documentTooOld))
    }

    @Test func `if all shares of people are taken, one more person is refused`() {
        var claim = claim(isAnonymous: false)
        claim.owner?.isAnonymous = false
        claim.documentAge = .zero
        claim.weakestShare = .init("cleo", documentAge: .days(30))
        #expect(claim.verdict(under: .share) == .refuse(.sharedWithMost))
        // Anonymous devices have a separate number of shares.
        claim.isClaimantAnonymous = true
        #expect(claim.verdict(under: .share) == .shareInstead(of: "cleo"))
        claim.sharers = 4
        #expect(claim.verdict(under: .share) == .share)
        claim.intent = .sync
        #expect(claim.verdict(under: .share) == .refuse(.needsRestore))
    }

    @Test(arguments: OwnershipClaim.RestorePolicy.allCases)
    func `a person with a recent document can take a purchase from an anonymous device`(
        policy: OwnershipClaim.RestorePolicy
    ) {
        var claim = claim(isAnonymous: false)
        for intent in [.purchase, .restore] as [OwnershipClaim.Intent] {
            claim.intent = intent
            claim.documentAge = .days(30)
            #expect(claim.verdict(under: policy) == .move(by: .device))
            // A document older than the one that the owner's device has shown may be a copy.
            claim.owner?.documentAge = .days(30)
            #expect(claim.verdict(under: policy) == .move(by: .device))
            claim.owner?.documentAge = .days(30) - .milliseconds(1)
            #expect(claim.verdict(under: policy) == .refuse(.documentTooOld))
            claim.owner?.documentAge = nil
            claim.documentAge = .days(31)
            #expect(claim.verdict(under: policy) == .refuse(.documentTooOld))
        }
        claim.isShared = true
        #expect(claim.verdict(under: policy) == .alreadyTheirs)
        claim.isShared = false
        claim.documentAge = .days(30)
        claim.intent = .sync
        #expect(claim.verdict(under: policy) == .refuse(.needsRestore))
        claim.intent = .restore
        claim.owner?.evidence = .support
        #expect(claim.verdict(under: policy) == .refuse(.decidedBySupport))
        claim.owner?.evidence = .device
        claim.owner?.isBlocked = true
        #expect(claim.verdict(under: policy) == .refuse(.blocked))
    }

    @Test func `a document older than 30 days moves no purchase to or from an anonymous device`() {
        var claim = claim(isAnonymous: false)
        claim.sharers = 0
        let ofPerson: [OwnershipClaim.Verdict] = [
            .refuse(.kept), .move(by: .device), .move(by: .device), .share,
        ]
        let ofOld: [OwnershipClaim.Verdict] = [
            .refuse(.kept), .refuse(.documentTooOld), .refuse(.documentTooOld),
            .refuse(.documentTooOld),
        ]
        for (age, expected) in [(Duration.days(30), ofPerson), (.days(31), ofOld)] {
            // The app does not name its intent.
            claim.documentAge = age
            #expect(
                OwnershipClaim.RestorePolicy.allCases.map { claim.verdict(under: $0) } == expected)
            // An anonymous device claims a purchase of a person.
            var reversed = claim
            reversed.owner?.isAnonymous = false
            reversed.isClaimantAnonymous = true
            #expect(
                OwnershipClaim.RestorePolicy.allCases.map { reversed.verdict(under: $0) }
                    == expected)
        }
    }

    // MARK: - Purchases that were taken by a document

    /// A claim by ben to a purchase that anna, a person, took from an anonymous device ten days
    /// ago, with a document that was eleven days old at that time.
    private var claimToTaken: OwnershipClaim {
        var claim = OwnershipClaim(
            owner: .init("anna", by: .device), named: nil, claimant: "ben",
            documentAge: .days(10) - .milliseconds(1))
        claim.owner?.documentAge = .days(21)
        claim.owner?.heldFor = .days(10)
        claim.owner?.isConfirmed = false
        claim.intent = .restore
        return claim
    }

    @Test(arguments: OwnershipClaim.RestorePolicy.allCases, [true, false])
    func `a purchase that was taken with a document can be taken back with a newer document`(
        policy: OwnershipClaim.RestorePolicy, isAnonymous: Bool
    ) {
        var claim = claimToTaken
        claim.isClaimantAnonymous = isAnonymous
        for intent in [nil, .purchase, .restore] as [OwnershipClaim.Intent?] {
            claim.intent = intent
            // An anonymous device takes nothing from a person unless the app names an intent or the
            // policy is transfer.
            let isAutomatic = isAnonymous && intent == nil && policy != .transfer
            #expect(
                claim.verdict(under: policy)
                    == (isAutomatic ? .refuse(.needsRestore) : .move(by: .device)))
        }
        // The document that takes the purchase back may also be the first document to show that the
        // purchase gives access again.
        claim.isInUse = true
        #expect(claim.verdict(under: policy) == .move(by: .device))
        claim.isInUse = false
        claim.intent = .sync
        #expect(claim.verdict(under: policy) == .refuse(.needsRestore))
        claim.intent = .restore
        // The clocks of the store and the server may differ, so the document must be newer by each
        // of them.
        claim.owner?.documentAge = .days(5)
        #expect(claim.verdict(under: .keep) == .refuse(.documentTooOld))
        claim.owner?.documentAge = .days(21)
        claim.owner?.heldFor = .days(90)
        claim.documentAge = .days(31)
        #expect(claim.verdict(under: .keep) == .refuse(.documentTooOld))
        for change in [
            { $0.owner?.evidence = .support }, { $0.owner?.isBlocked = true },
            { $0.named = "cleo" },
        ] as [(inout OwnershipClaim) -> Void] {
            var other = claimToTaken
            change(&other)
            guard case .refuse = other.verdict(under: policy) else {
                Issue.record("\(other)")
                continue
            }
        }
    }

    @Test
    func `a customer with a share keeps the share, or takes the purchase by a newer document`() {
        var claim = claimToTaken
        claim.isShared = true
        #expect(claim.verdict(under: .share) == .move(by: .device))
        claim.documentAge = .days(10)
        #expect(claim.verdict(under: .share) == .alreadyTheirs)
        claim.documentAge = .zero
        claim.intent = .sync
        #expect(claim.verdict(under: .share) == .alreadyTheirs)
    }

    @Test
    func `a purchase that was taken with a document cannot be taken back with an older one`() {
        var claim = claimToTaken
        for age in [.days(10), .days(21), nil] as [Duration?] {
            claim.documentAge = age
            #expect(claim.verdict(under: .keep) == .refuse(.documentTooOld))
            claim.isInUse = true
            #expect(claim.verdict(under: .transferIfInactive) == .refuse(.documentTooOld))
            claim.isInUse = false
        }
    }

    @Test func `an owner keeps a purchase that they bought or confirmed with a later document`() {
        var claim = claimToTaken
        claim.owner?.isConfirmed = true
        #expect(claim.verdict(under: .keep) == .refuse(.kept))
        claim = claimToTaken
        claim.owner?.evidence = .token
        #expect(claim.verdict(under: .keep) == .refuse(.kept))
    }

    @Test func `a document is stored if later claims depend on the document`() {
        let anonymous = claim(isAnonymous: true)
        let person = claim(isAnonymous: false)
        var fromPerson = person
        fromPerson.owner?.isAnonymous = false
        let rows: [(OwnershipClaim, OwnershipClaim.Verdict, Bool)] = [
            (anonymous, .link(by: .device), true), (anonymous, .link(by: .token), true),
            (person, .link(by: .device), false), (anonymous, .move(by: .device), true),
            (person, .move(by: .device), true), (person, .move(by: .token), false),
            (fromPerson, .move(by: .device), true), (fromPerson, .move(by: .token), false),
            (claimToTaken, .move(by: .device), true), (claimToTaken, .move(by: .token), false),
            (person, .share, true), (anonymous, .shareInstead(of: "cleo"), true),
            (anonymous, .alreadyTheirs, false), (anonymous, .refuse(.kept), false),
        ]
        for (claim, verdict, expected) in rows {
            let isRemembered = claim.isDocumentRemembered(after: verdict, isDocumentNew: true)
            #expect(isRemembered == expected, "\(verdict)")
        }
        // A person who links a purchase with an already known document may only have a copy of it.
        #expect(person.isDocumentRemembered(after: .link(by: .device), isDocumentNew: false))
    }
}

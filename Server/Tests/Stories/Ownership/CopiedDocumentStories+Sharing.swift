import AppStoreFormats
import Engine
import Ledger
import Testing

@testable import Program

/// Who gets a share of a purchase by posting copies of documents.
extension CopiedDocumentStories {
    @Test(arguments: StoryDatabase.allCases)
    func `anonymous devices and persons have separate limits for shares`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database, app: Self.app(.share, most: 2)) { shop in
            let signed = try await shop.buyMonth("anna").text("signed_transaction")
            #expect(try await Self.post(signed, as: "anna", "purchase", in: shop) == "linked")
            for number in 1...2 {
                let device = Self.device("device\(number)")
                #expect(try await Self.post(signed, as: device, "restore", in: shop) == "shared")
            }
            #expect(
                try await Self.post(signed, as: Self.device("device3"), "restore", in: shop)
                    == "another shared_with_most")
            for person in ["ben", "cleo"] {
                #expect(try await Self.post(signed, as: person, "restore", in: shop) == "shared")
            }
            #expect(
                try await Self.post(signed, as: "dora", "restore", in: shop)
                    == "another shared_with_most")
            for user in ["anna", "ben", "cleo", Self.device("device1"), Self.device("device2")] {
                #expect(try await Self.isOpen(user, in: shop), "\(user)")
            }
            try await Self.expectClean(shop)
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `when the owner of a purchase signs in, shares over the limit for signed-in people end`(
        database: StoryDatabase
    ) async throws {
        let app = Self.app(.share, most: 2, anonymousMost: 6)
        try await withShop(on: database, app: app) { shop in
            let signed = try await Self.buy(in: shop)
            let people = (1...5).map { "person-\($0)" }
            for person in people {
                let device = Self.device(person)
                #expect(try await Self.post(signed, as: device, "sync", in: shop) == "shared")
                try await Self.join(device, to: person, in: shop)
                try await Self.pass("PT1S", in: shop)
            }
            for person in people { #expect(try await Self.isOpen(person, in: shop)) }
            try await Self.join(Self.device("phone"), to: "anna", in: shop)
            var open: [String] = []
            for person in people where try await Self.isOpen(person, in: shop) {
                open.append(person)
            }
            #expect(open == ["person-1", "person-2"])
            #expect(
                try await Self.post(signed, as: "person-3", "restore", in: shop)
                    == "another shared_with_most")
            try await Self.expectClean(shop)
        }
    }
}

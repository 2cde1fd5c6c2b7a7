import Testing

/// A group on the phone of `perennial dev`. The story buys, joins and leaves it as a browser does.
@Suite(.serialized, .timeLimit(.minutes(10))) struct PhoneGroupStories {
    /// The claims that the page offers to end, sorted by name, because the order of simultaneous
    /// claims has no meaning.
    private static func members(on pieces: PhoneTable.Pieces) -> [(claim: String, name: String)] {
        pieces.html("others").matches(of: #/value="leave ([^"]+)"[^>]*>.*?<bdi>([a-z]+)<\/bdi>/#)
            .map { (claim: String($0.1), name: String($0.2)) }.sorted { $0.name < $1.name }
    }

    private static func buyFive(_ phone: PhoneTable) async throws -> PhoneTable.Pieces {
        try await phone.act("sheet pro.monthly", "more", "more", "more", "more", "yes")
    }

    @Test
    func `before the purchase, the payment sheet on the phone shows what seats cost in each tier`()
        async throws
    {
        try await PhoneTable.play { phone in
            let one = try await phone.act("sheet pro.monthly", "fewer")
            #expect(one.text("screen").contains("1 person"))
            #expect(one.text("screen").contains("$9.99 a month, until cancelled."))
            let five = try await phone.act("more", "more", "more", "more")
            #expect(five.text("screen").contains("5 people"))
            #expect(
                five.text("screen").contains("2 × $9.99 and 3 × $7.99: $43.95 a month"))
            let bought = try await phone.act("yes")
            try await phone.expect(bought, shows: "paid")
            #expect(bought.text("screen").contains("1 of 5 seats taken"))
            #expect(bought.text("books").contains("MRR $43.95"))
            #expect(bought.text("books").contains("Revenue $43.95"))
            let more = try await phone.act("sheet pro.monthly", "more")
            #expect(more.text("screen").contains("Now 2 × $7.99: $15.98 for 2 more seats."))
            let added = try await phone.act("yes")
            try await phone.expect(added, shows: "paid")
            #expect(added.text("screen").contains("1 of 7 seats taken"))
            #expect(added.text("books").contains("MRR $59.93"))
            #expect(added.text("wire").contains("seats_added"))
            let renewed = try await phone.act("month")
            try await phone.expect(renewed, shows: "paid")
            #expect(renewed.text("books").contains("MRR $59.93"))
            #expect(renewed.text("books").contains("Revenue $119.86"))
        }
    }

    @Test func `on the phone, friends join with codes until the group is full`() async throws {
        try await PhoneTable.play { phone in
            _ = try await Self.buyFive(phone)
            #expect(!(try await phone.act("group")).html("others").contains("value=\"join\""))
            for name in ["ben", "carl", "dave", "eva"] {
                let invited = try await phone.act("invite")
                #expect(invited.text("screen").contains("Send this code"))
                #expect(invited.text("others").contains("Let \(name) join with the code"))
                let joined = try await phone.act("join")
                #expect(Self.members(on: joined).last?.name == name)
                #expect(!joined.text("screen").contains("Send this code"))
                let friend = try await phone.server.get("/v1/customers/\(name)")
                #expect(friend["entitlements"]?["pro"]?["active"]?.bool == true)
            }
            let refused = try await phone.act("invite", "join")
            #expect(refused.text("trouble").contains("All seats"))
            #expect(Self.members(on: refused).count == 4)
        }
    }

    @Test
    func `on the phone, members can leave or be removed, and an unknown claim is refused`()
        async throws
    {
        try await PhoneTable.play { phone in
            _ = try await Self.buyFive(phone)
            let joined = try await phone.act("invite", "join", "invite", "join")
            let members = Self.members(on: joined)
            try #require(members.map(\.name) == ["ben", "carl"])
            let forged = try await phone.act("remove nobody")
            #expect(forged.text("trouble").contains("Nobody in the group has this seat."))
            let left = try await phone.act("leave \(members[0].claim)")
            #expect(Self.members(on: left).map(\.name) == ["carl"])
            let removed = try await phone.act("remove \(members[1].claim)")
            #expect(Self.members(on: removed).isEmpty)
            for name in ["ben", "carl"] {
                let friend = try await phone.server.get("/v1/customers/\(name)")
                #expect(friend["entitlements"]?["pro"]?["active"]?.bool != true)
            }
            // A member who left can join again.
            let again = try await phone.act("invite", "join")
            #expect(Self.members(on: again).map(\.name) == ["ben"])
        }
    }

    @Test
    func `for a product without seats, the phone offers no invitations and no number of seats`()
        async throws
    {
        try await PhoneTable.play { phone in
            let bought = try await phone.act("sheet pro.yearly", "more", "yes")
            try await phone.expect(bought, shows: "trial")
            #expect(!bought.text("screen").contains("My group"))
            let invited = try await phone.act("invite")
            #expect(!invited.text("trouble").isEmpty)
            let joined = try await phone.act("join")
            #expect(joined.text("trouble").contains("There is no code"))
        }
    }
}

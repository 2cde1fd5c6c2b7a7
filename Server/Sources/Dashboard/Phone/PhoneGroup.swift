import PerennialContract

/// The group whose seats the customer pays for, in the form in which the server sends it to the
/// customer's app.
package struct PhoneGroup: Hashable, Sendable {
    /// The number of people that are paid for, including the purchaser.
    package var seats: Int
    /// How many more members can join.
    package var free: Int
    /// The members, in the order in which they get seats.
    package var members: [Member]
    /// The person who joins next, on another phone. Nil if all friends are in the group.
    package var nextFriend: String?

    package struct Member: Hashable, Sendable {
        package var claimID: String
        package var name: String
        /// Whether there is a seat for the member.
        package var hasSeat: Bool

        package init(claimID: String, name: String, hasSeat: Bool) {
            self.claimID = claimID
            self.name = name
            self.hasSeat = hasSeat
        }
    }

    package init(seats: Int, free: Int, members: [Member], nextFriend: String?) {
        self.seats = seats
        self.free = free
        self.members = members
        self.nextFriend = nextFriend
    }
}

extension PhoneState {
    /// Whether the screen shows the group instead of the app.
    var showsGroup: Bool { device.showsGroup && group != nil }

    /// The number of seats of a product that the customer pays for now. Nil if the customer has not
    /// subscribed to the product.
    func presentSeats(of product: String) -> Int? {
        guard let running = subscription, !running.isOver, running.productID == product else {
            return nil
        }
        return running.seats ?? 1
    }

    /// The numbers of seats that the payment sheet of a product offers: more than the present
    /// number.
    package func seatChoices(of productID: String) -> ClosedRange<Int> {
        guard let product = product(productID), asksForSeats(of: product) else { return 1...1 }
        let least = presentSeats(of: productID).map { $0 + 1 } ?? 1
        return least...max(least, PhoneDevice.seatsMax)
    }

    /// Whether the sheet of a product asks for the number of people.
    func asksForSeats(of product: PhoneProduct) -> Bool {
        guard product.isSoldInSeats else { return false }
        guard let running = subscription, !running.isOver else { return true }
        return running.productID == product.id && running.renewsTo == product.id
            && !running.isRetried
    }
}

/// The screen of the phone with the group: its seats, its members, and an invitation.
struct PhoneGroupScreen {
    let state: PhoneState
    let group: PhoneGroup
    let hint: PhoneAct?

    var markup: Markup {
        """
        <div class="group">\(back)\(seats)</div>\
        <div class="group">\(own)\(group.members.map(row).joined())</div>\
        <div class="group">\(invitation)</div>
        """
    }

    private var back: Markup {
        """
        <button \(button(.switchGroup).attributes("it"))><span>Back to the birds</span>\
        <span class="muted" aria-hidden="true">›</span></button>
        """
    }

    private var seats: Markup {
        let product = state.subscription?.productID
        let add: Markup =
            product.flatMap(state.product).map { product in
                guard state.asksForSeats(of: product) else { return "" }
                return pill(.openSheet(product.id), "Add", "seats")
            } ?? ""
        return item(
            "\(Figures.count(group.seats, "seat"))", "\(Figures.count(group.free)) free", add)
    }

    private var own: Markup { item(.id(state.customer.customerID), "pays for all", "") }

    private func row(_ member: PhoneGroup.Member) -> Markup {
        let name = Markup.id(member.name)
        return item(
            name, member.hasSeat ? "has a seat" : "waits for a seat",
            pill(.remove(member.claimID), "Remove", name))
    }

    private var invitation: Markup {
        let invite = item(
            "Invite somebody", "a code for one person", pill(.invite, "Invite", "somebody"))
        guard let code = state.device.invitation else { return invite }
        return invite + item("Send this code", "<code>\(Self.broken(code))</code>", "")
    }

    /// A long code may be broken in the middle.
    private static func broken(_ code: String) -> Markup {
        let half = code.count / 2
        return "\(String(code.prefix(half)))<wbr>\(String(code.dropFirst(half)))"
    }

    private func item(_ title: Markup, _ small: Markup, _ act: Markup) -> Markup {
        "<div class=\"it\"><span>\(title)<small>\(small)</small></span>\(act)</div>"
    }

    private func pill(_ act: PhoneAct, _ word: Markup, _ what: Markup) -> Markup {
        """
        <button \(button(act).attributes("buy"))>\(word)<span class="vh"> \(what)</span></button>
        """
    }

    private func button(_ act: PhoneAct) -> PhoneButton {
        PhoneButton(act: act, isHinted: act == hint)
    }
}

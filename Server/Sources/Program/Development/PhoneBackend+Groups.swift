import AppStoreFormats
import Dashboard
import Foundation
import PerennialContract

// The group for which the customer pays. The development app has no sign-in, so it cannot prove who
// its user is. The app's server therefore sends the requests, with the secret key.

extension PhoneBackend {
    /// The people who join one after the other, each with their own phone.
    static let friends = [other, "carl", "dave", "eva", "finn"]

    // MARK: - Reading

    /// Reads the group of a subscription that was bought in seats; nil if the subscription has no
    /// group.
    func group(of subscription: BookedPurchase?) async throws -> PhoneGroup? {
        guard let subscription, !subscription.isOver, subscription.seats != nil else { return nil }
        let answer = try await settings.secret.get(
            "\(Paths.seats(of: subscription.originalTransactionID))?\(speaker(customer))")
        guard answer.isSuccess else { return nil }
        let group = try JSONDecoder().decode(SeatGroup.self, from: Data(answer.body))
        let members = group.claims.map { claim in
            PhoneGroup.Member(
                claimID: claim.claimID, name: claim.customerID ?? "somebody",
                hasSeat: claim.standing == .held)
        }
        let names = Set(members.map(\.name))
        return PhoneGroup(
            seats: group.seats, free: group.available ?? 0, members: members,
            nextFriend: Self.friends.first { !names.contains($0) })
    }

    /// The tiers of each product that is sold in seats, as StoreKit on the phone reports them.
    func seatTiers() async throws -> [String: [PhoneProduct.SeatTier]] {
        let shelf = try await settings.simulator.get("/_sim/devices/\(phone ?? "")/products").json
        var tiers: [String: [PhoneProduct.SeatTier]] = [:]
        for product in shelf["products"]?.array ?? [] {
            guard let id = product["product_id"]?.string else { continue }
            tiers[id] = (product["price_tiers"]?.array ?? []).compactMap { tier in
                guard let from = tier["minimum_seats"]?.integer,
                    let price = tier["price_milliunits"]?.integer
                else { return nil }
                return PhoneProduct.SeatTier(from: Int(clamping: from), milliunits: price)
            }
        }
        return tiers
    }

    /// The query that names the customer for whom the request is sent.
    private func speaker(_ id: String) -> String { "customer_id=\(Paths.percentEncoded(id))" }

    // MARK: - Acts

    /// Changes the number of people on the payment sheet.
    func changeSeats(by step: Int, _ state: PhoneState) {
        guard let product = device.sheet else { return }
        let choices = state.seatChoices(of: product)
        device.seats = min(max(device.seats + step, choices.lowerBound), choices.upperBound)
    }

    func invite(_ subscription: BookedPurchase) async throws {
        let path = Paths.invitations(of: subscription.originalTransactionID)
        let answer = try await settings.secret.post("\(path)?\(speaker(customer))")
        add(answer, to: "POST \(path)", by: "server")
        guard answer.isSuccess else { throw Refusal(sentence: answer.complaint) }
        device.invitation = answer.json["token"]?.string
    }

    /// The next friend joins with the code.
    func joinGroup(_ state: PhoneState) async throws {
        guard let code = device.invitation, let friend = state.group?.nextFriend else {
            throw Refusal(sentence: "There is no code with which somebody could join.")
        }
        let answer = try await settings.secret.post(
            Paths.seatClaims, ["customer_id": .string(friend), "token": .string(code)])
        add(answer, to: "POST \(Paths.seatClaims)", by: friend)
        guard answer.isSuccess else { throw Refusal(sentence: answer.complaint) }
        device.invitation = nil
    }

    /// Ends a claim.
    ///
    /// - Parameter isLeft: whether the member gives the seat back; otherwise the purchaser takes it
    ///   back.
    func release(_ claim: String, isLeft: Bool, _ state: PhoneState) async throws {
        guard let member = state.group?.members.first(where: { $0.claimID == claim }) else {
            throw Refusal(sentence: "Nobody in the group has this seat.")
        }
        let answer = try await settings.secret.delete(
            "\(Paths.seatClaim(claim))?\(speaker(isLeft ? member.name : customer))")
        add(answer, to: "DELETE \(Paths.seatClaims)/…", by: isLeft ? member.name : "server")
        guard answer.isSuccess else { throw Refusal(sentence: answer.complaint) }
    }
}

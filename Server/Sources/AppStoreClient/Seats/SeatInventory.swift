import AppStoreFormats

/// The seats of a group whose members the app invites, as Apple counts them
/// ("GetSeatInfoResponse").
package struct SeatInventory: Hashable, Sendable {
    package var total: Int
    /// How many more claims of seats Apple accepts.
    package var available: Int
    /// The ids of the open claims, in lower case. After a renewal with fewer seats there can be
    /// more claims than seats.
    package var claims: [String]
}

// Calls about seats. Apple provides them only in the sandbox, for a running subscription whose
// transaction says that the app manages the invitations. Apple documents the names of their errors,
// not the numbers.

extension AppStoreClient {
    /// Reports that a member has a seat: "Claim Seat". Idempotent: the same request has the same
    /// answer.
    ///
    /// - Parameters:
    ///   - originalTransactionID: the original transaction id of the purchaser's subscription.
    ///   - requestID: a UUID, which must be stored before the call.
    /// - Returns: Apple's id of the claim, in lower case.
    package func claimSeat(
        of originalTransactionID: String, requestID: String, in environment: StoreEnvironment
    ) async throws(AppStoreFailure) -> String {
        let path = try Self.seats(of: originalTransactionID)
        let answer = try await json(
            .claimSeat, path, body: ["requestIdentifier": .string(requestID)], in: environment)
        return try Self.seatID(try answer.required("seatClaimId"))
    }

    /// Reports that a member's seat is free: "Unclaim Seat".
    ///
    /// - Parameter claim: as ``claimSeat(of:requestID:in:)`` returned it.
    package func unclaimSeat(
        _ claim: String, of originalTransactionID: String, in environment: StoreEnvironment
    ) async throws(AppStoreFailure) {
        let id = try Self.validated(claim)
        let path = try Self.seats(of: originalTransactionID) + "/\(id)"
        _ = try await perform(.unclaimSeat, path, in: environment)
    }

    /// The seats of a group and its claims: "Get Seat Info".
    package func seats(
        of originalTransactionID: String, in environment: StoreEnvironment
    ) async throws(AppStoreFailure) -> SeatInventory {
        let path = try Self.seats(of: originalTransactionID)
        let answer = try await json(.seatInfo, path, in: environment)
        var claims: [String] = []
        for id in try answer.requiredStrings("assignedSeatClaimIds") {
            claims.append(try Self.seatID(id))
        }
        return SeatInventory(
            total: try Self.count("totalSeatCount", in: answer),
            available: try Self.count("availableSeatCount", in: answer), claims: claims)
    }

    private static func seats(
        of originalTransactionID: String
    ) throws(AppStoreFailure) -> String {
        "/groups/v1/transactions/\(try validated(originalTransactionID))/seats"
    }

    /// Apple's id of a claim. Throws if the id cannot be put into a path.
    private static func seatID(_ text: String) throws(AppStoreFailure) -> String {
        do { return try validated(text).lowercased() } catch {
            throw .unreadable("“\(text.prefix(40))” is no id of a claim")
        }
    }

    private static func count(_ key: String, in answer: JSON) throws(AppStoreFailure) -> Int {
        guard let number = answer[key]?.integer, number >= 0 else {
            throw .unreadable("\(key) must be a number")
        }
        return Int(clamping: number)
    }
}

/// Why Apple refuses a call about seats.
package enum SeatError: String, Hashable, Sendable, CaseIterable {
    /// Every seat is claimed.
    case noAvailableSeats = "NoAvailableSeatsError"
    case claimNotFound = "SeatClaimIdNotFoundError"
    case appTransactionNotFound = "AppTransactionIdNotFoundError"
    /// The subscription is not active, or was not bought in seats, or Apple manages its
    /// invitations.
    case notManagedByApp = "TransactionNotDevManagedGroupError"

    /// The letters of the error's name without “Error”. They are compared because a message may
    /// write the name as several words.
    fileprivate var letters: String {
        rawValue.dropLast("Error".count).lowercased()
    }
}

extension AppStoreFailure {
    /// The error about seats that the message of a failure names. Nil if the message names none.
    package var seatError: SeatError? {
        guard case .refused(_, let message) = self else { return nil }
        let letters = message.lowercased().filter(\.isLetter)
        return SeatError.allCases.first { letters.contains($0.letters) }
    }
}

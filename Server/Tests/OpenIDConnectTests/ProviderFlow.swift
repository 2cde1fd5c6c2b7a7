import AppStoreFormats
import Ledger
import OpenIDProvider
import Synchronization

@testable import OpenIDConnect

/// A provider, this server as its client, and a clock that the test sets.
final class ProviderFlow: Sendable {
    static let anna: [String: JSON] = [
        "sub": "a1", "preferred_username": "anna", "name": "Anna", "groups": ["staff", "admins"],
    ]
    static let redirectURL = "https://store.example.com/login/openid/answer"

    let provider: OpenIDProvider
    let client: OpenIDClient
    private let moment: Clock

    private final class Clock: Sendable {
        let now = Mutex(Instant(milliseconds: 1_795_248_000_000))
    }

    init(groupsClaim: String = "groups") throws {
        let moment = Clock()
        self.moment = moment
        provider = OpenIDProvider { moment.now.withLock { $0 } }
        client = OpenIDClient(
            try OpenIDProvider.settings(groupsClaim: groupsClaim, redirectURL: Self.redirectURL),
            send: provider.sender)
    }

    var now: Instant { moment.now.withLock { $0 } }

    func pass(_ duration: Duration) { moment.now.withLock { $0 = $0 + duration } }

    /// A ticket whose secret repeats one byte.
    func ticket(_ byte: UInt8 = 7) -> SignInTicket {
        SignInTicket(secret: Array(repeating: byte, count: 32), begunAt: now, next: "/")
    }

    /// Goes to the provider, signs a person in, and returns the fields of its answer.
    func answer(
        to ticket: SignInTicket, as person: [String: JSON] = anna
    ) async throws -> [String: String] {
        let address = try await client.authorizationURL(for: ticket, at: now)
        guard let back = provider.signIn(at: address, as: person) else {
            throw OpenIDFailure.unreadable("the provider does not accept \(address)")
        }
        return OpenIDProvider.fields(String(back.drop { $0 != "?" }.dropFirst()))
    }

    /// A whole sign-in.
    func identity(
        as person: [String: JSON] = anna, for ticket: SignInTicket? = nil
    ) async throws -> VerifiedIdentity {
        let ticket = ticket ?? self.ticket()
        let answer = try await answer(to: ticket, as: person)
        return try await client.identity(
            code: answer["code"] ?? "", issuer: answer["iss"], for: ticket, at: now)
    }
}

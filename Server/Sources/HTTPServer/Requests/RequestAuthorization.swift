import Engine
import HTTPTypes
import Hummingbird
import Ledger
import PerennialContract
import Storage

/// Checks the key of a request, and the proof of a customer's identity.
struct RequestAuthorization: RouteGroup {
    let server: PerennialServer

    /// Checks that an app may act for a customer. If the configuration requires a proof, the
    /// request must have one. Requests with a secret key need no proof.
    func requireProof(
        of id: CustomerID, _ headers: HTTPFields, _ holder: StoredKey
    ) async throws {
        guard let proofs = Self.proofs(in: headers, of: holder) else { return }
        do { try await engine.customers.requireProof(proofs, of: id, app: holder.app) } catch {
            throw ProblemError(error, subject: .customer)
        }
    }

    /// Checks that an app's request is for its own customer, before an act that cannot be undone.
    /// An anonymous id suffices without a proof, because it cannot be guessed.
    func requireProvenIdentity(
        of id: CustomerID, _ headers: HTTPFields, _ holder: StoredKey
    ) async throws {
        guard engine.customers.requiresProof(holder.app) else {
            guard try await engine.customers.isOnlyAnonymous(id, app: holder.app) else {
                throw ProblemError(.keyNotSecretNorProof)
            }
            return
        }
        try await requireProof(of: id, headers, holder)
    }

    /// Returns the proofs in an app's request, or nil for a request with a secret key. Several
    /// proofs are separated by commas, as HTTP joins fields with the same name.
    static func proofs(in headers: HTTPFields, of holder: StoredKey) -> [String]? {
        guard holder.kind == .app else { return nil }
        let proofs = headers[.customerProof]?.split(separator: ",") ?? []
        return proofs.prefix(CustomerService.proofsMax).map { String($0.filter { $0 != " " }) }
    }
}

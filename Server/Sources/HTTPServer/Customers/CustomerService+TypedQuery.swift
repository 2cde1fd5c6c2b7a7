import Engine
import Ledger
import PerennialContract

extension CustomerService {
    /// Finds customers by a text that a person has typed. The text may contain invisible characters
    /// as numbers, in the form that pages show: `anna[U+200B]`.
    func find(
        typed query: String, byPrefix: Bool = false, app: AppID
    ) async throws(EngineFailure) -> CustomerSearch {
        let search = try await find(like: query, byPrefix: byPrefix, app: app)
        let decoded = VisibleText.decoded(query)
        guard search.found.isEmpty, decoded != query else { return search }
        return try await find(like: decoded, byPrefix: byPrefix, app: app)
    }
}

import Engine
import HTTPBasics
import Hummingbird
import PerennialContract

/// The entity tag of a response about a customer (RFC 9110, section 8.8.3).
///
/// The tag covers everything except the time of the response and the token, which change even if
/// nothing has happened. So the tag is weak.
struct CustomerTag: Hashable {
    private let tag: EntityTag

    /// The tag as it is written in the header.
    var text: String { tag.text }

    init(_ customer: Customer) throws {
        var content = customer
        content.asOf = Timestamp(milliseconds: 0)
        content.serverTime = nil
        content.token = nil
        tag = EntityTag(ContentTag.text(of: Array(try ContractEncoder().encode(content))))
    }

    func response(_ customer: Customer) throws -> Response {
        var response = try JSONResponse.ok(customer)
        response.headers[.eTag] = text
        return response
    }

    /// Whether a client that sends this `If-None-Match` already has the answer.
    func isNamed(in header: String?) -> Bool { tag.matches(header) }
}

import AppStoreFormats
import Foundation
import X509

/// The time in which all certificates of a chain are valid.
struct CertificateValidity: Hashable, Sendable {
    private let from: AppStoreDate
    /// The last moment at which all certificates are valid.
    private let until: AppStoreDate

    init(of certificates: [Certificate]) {
        // Certificates count whole seconds; the last second is valid to its end.
        let from = certificates.map { $0.notValidBefore.timeIntervalSince1970 }.max() ?? 0
        let until = certificates.map { $0.notValidAfter.timeIntervalSince1970 }.min() ?? 0
        self.from = AppStoreDate(milliseconds: Int64(from) * 1000)
        self.until = AppStoreDate(milliseconds: Int64(until) * 1000 + 999)
    }

    /// Throws unless all certificates were valid at the moment of signing.
    func require(at moment: AppStoreDate, of subject: Refusal.Subject) throws(Refusal) {
        guard from <= moment, moment <= until else {
            throw Refusal(
                .notValidAtSigning, expected: "a moment from \(from.text) to \(until.text)",
                found: moment.text, of: subject)
        }
    }
}

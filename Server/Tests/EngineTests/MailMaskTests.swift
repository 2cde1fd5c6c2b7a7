import Ledger
import Testing

@testable import Engine

/// A masked mail address hints at the owner of a purchase without naming the owner.
@Suite struct MailMaskTests {
    @Test(
        arguments: [
            ("anna@example.com", "a…@e…"), ("Ön.na+x@mail.example.at", "Ö…@m…"),
            ("anna", nil), ("anna@", nil), ("@example.com", nil), ("anna@example", nil),
            ("anna@.com", nil), ("a@b@example.com", nil), ("anna b@example.com", nil),
            ("anon_0f4c7b9e-1d2a-4c3b-8e5f-6a7b8c9d0e1f", nil),
        ] as [(String, String?)])
    func `only a mail address is masked: it keeps the first letters of its name and host`(
        id: String, mask: String?
    ) {
        #expect(CustomerID(rawValue: id).mailMask == mask)
    }
}

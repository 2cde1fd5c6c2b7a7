import Engine
import Ledger
import PerennialContract
import Testing

@testable import HTTPServer

@Suite struct FailureTests {
    @Test func `a failure of the database is answered with 503, a time to retry, and no detail`() {
        for subject in [ProblemError.Subject.notification, .purchases, .customer] {
            let refused = ProblemError(EngineFailure.storage("disk full at /var"), subject: subject)
            #expect(refused.problem.status == 503)
            #expect(refused.headers[.retryAfter] == "30")
            #expect(refused.problem.detail == nil)
            #expect(refused.operatorDetail == "disk full at /var")
        }
    }

    @Test func `a claim of another customer's purchase is answered with 409`() {
        let purchase = PurchaseID("1", in: .production)
        let refused = ProblemError(.belongsToAnotherCustomer(purchase, .kept), subject: .purchases)
        #expect(refused.problem.status == 409)
        #expect(refused.headers[.retryAfter] == nil)
        // The remedy mentions a merge of customers, so it must say that a merge is permanent.
        #expect(refused.problem.remedy.contains("log-in has proven"))
        #expect(refused.problem.remedy.hasSuffix("That is permanent."))
    }

    @Test func `if a customer has too many ids, the remedy does not advise smaller requests`()
        async throws
    {
        try await TestServer.run { server in
            for number in 1..<CustomerService.idsMax {
                _ = try await server.engine.customers.alias(
                    CustomerID(rawValue: "device-\(number)"), to: "anna", app: "birds",
                    environment: .production)
            }
            let answer = try await server.send(
                .post, Paths.aliases(of: "anna"), key: TestServer.secret,
                body: #"{"customer_id": "one-more"}"#)
            #expect(answer.status == 413)
            let problem = try answer.problem
            #expect(problem.code == .bodyHasTooManyItems)
            #expect(problem.detail == "At most 100 ids are accepted for one customer.")
            #expect(problem.remedy.hasPrefix("Use one of the existing ids"))
        }
    }

    @Test func `if a search is too long, the problem says what can be searched`() async throws {
        try await TestServer.run { server in
            let path = "/v1/customers?query="
            let longest = String(repeating: "a", count: CustomerService.queryBytesMax)
            let none = try await server.send(.get, path + longest, key: TestServer.secret)
            #expect(none.status == 200)
            let answer = try await server.send(
                .get, path + longest + "a", key: TestServer.secret)
            #expect(answer.status == 413)
            let problem = try answer.problem
            #expect(problem.code == .bodyHasTooManyItems)
            #expect(problem.detail == "Found more than 255 bytes of UTF-8.")
            #expect(problem.remedy.hasPrefix("Send one id of a customer, transaction, or order"))
        }
    }

    @Test func `a client without a key does not learn which apps this server has`() {
        let failure = EngineFailure.notForAnyApp(found: "com.a", known: ["com.secret"])
        let refused = ProblemError(failure, subject: .notification)
        #expect(refused.problem.detail == #"It is for "com.a"."#)
        #expect(refused.operatorDetail == "expected one of com.secret")
    }

    @Test func `a missing proof and an invalid proof have different problem codes`() {
        let rows: [(IdentityProof.Defect, ProblemCode)] = [
            (.missing, .customerProofMissing), (.wrong, .customerProofNotValid),
            (.expired, .customerProofNotValid), (.notYet, .customerProofNotValid),
            (.endless, .customerProofNotValid), (.ofOneOnly, .customerProofNotValid),
        ]
        for (lack, code) in rows {
            let refused = ProblemError(.identityNotProven(lack), subject: .customer)
            #expect(refused.problem.code == code && refused.problem.status == 401)
        }
    }

    @Test func `an unexpected error is answered with 500, and its text is not sent`() {
        struct Surprise: Error { let text = "inner" }
        let refused = ProblemError(anything: Surprise())
        #expect(refused.problem.status == 500)
        #expect(refused.operatorDetail?.contains("inner") == true)
        #expect(refused.problem.detail == nil)
    }
}

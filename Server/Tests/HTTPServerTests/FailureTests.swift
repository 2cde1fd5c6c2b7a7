import Engine
import Ledger
import PerennialContract
import Testing

@testable import HTTPServer

@Suite struct FailureTests {
    @Test func `trouble with the database is ours, to be sent again, and its detail stays here`() {
        for subject in [ProblemError.Subject.notification, .purchases, .customer] {
            let refused = ProblemError(EngineFailure.storage("disk full at /var"), subject: subject)
            #expect(refused.problem.status == 503)
            #expect(refused.headers[.retryAfter] == "30")
            #expect(refused.problem.detail == nil)
            #expect(refused.operatorDetail == "disk full at /var")
        }
    }

    @Test func `a purchase of somebody else is a conflict`() {
        let purchase = PurchaseID("1", in: .production)
        let refused = ProblemError(.belongsToAnotherCustomer(purchase, .kept), subject: .purchases)
        #expect(refused.problem.status == 409)
        #expect(refused.headers[.retryAfter] == nil)
        // To join two customers is for good: nobody is sent there without being told.
        #expect(refused.problem.remedy.contains("log-in has proven"))
        #expect(refused.problem.remedy.hasSuffix("That is permanent."))
    }

    @Test func `one id too many is not told to come in smaller requests`() async throws {
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

    @Test func `who looks for something too long is told what can be looked for`() async throws {
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

    @Test func `the apps of this server are not told to a stranger`() {
        let failure = EngineFailure.notForAnyApp(found: "com.a", known: ["com.secret"])
        let refused = ProblemError(failure, subject: .notification)
        #expect(refused.problem.detail == #"It is for "com.a"."#)
        #expect(refused.operatorDetail == "expected one of com.secret")
    }

    @Test func `a proof that is missing is told from one that does not hold`() {
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

    @Test func `an error that nobody foresaw is a 500 without its text`() {
        struct Surprise: Error { let text = "inner" }
        let refused = ProblemError(anything: Surprise())
        #expect(refused.problem.status == 500)
        #expect(refused.operatorDetail?.contains("inner") == true)
        #expect(refused.problem.detail == nil)
    }
}

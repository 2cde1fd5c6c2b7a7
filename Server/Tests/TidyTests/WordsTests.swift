import Testing

/// Each check of words and names finds a bad sample and accepts a good one.
@Suite struct WordsTests {
    private func violations(_ text: String, in path: String = "Server/Sources/X/Y.swift") -> Int {
        Words.violations(in: SourceFile(path: path, text: text)).count
    }

    private func complaints(_ text: String, in path: String = "Server/Sources/X/Y.swift") -> Int {
        Names.violations(in: SourceFile(path: path, text: text)).count
    }

    @Test(arguments: [
        "let x = try! read()", "fatalError(\"no\")", "let y = x as! String",
        "do { try read() } catch {}", "do { try read() } catch let error {\n    // nothing\n}",
        "public struct X {}", "    @frozen public let x = 1", "open class X {}",
    ])
    func `a trap or a public declaration is a violation`(line: String) {
        #expect(violations(line) == 1)
    }

    @Test(arguments: [
        "// try! is banned", "let text = \"fatalError(\"", "let x = y as? String", "try? read()",
        "do { try read() } catch { throw Problem(error) }", "func publication() {}",
        "let x = opens ? 1 : 2",
    ])
    func `a line that only resembles a trap is allowed`(line: String) {
        #expect(violations(line) == 0)
    }

    @Test(arguments: [
        "let id = try row.text(0)", "let at = try row.instant(first + 3)", "row.values[1] == .null",
        "try connection.rows(sql, [])[0].integer(0)", "rows.map { $0.values[0] }",
    ])
    func `a column that is read by its position is a violation`(line: String) {
        #expect(violations(line, in: "Server/Sources/Storage/Y.swift") == 1)
        #expect(violations(line, in: "Server/Sources/Engine/Y.swift") == 1)
        #expect(violations(line, in: "Server/Sources/HTTPServer/Y.swift") == 0)
    }

    @Test(arguments: [
        "let id = try row.text()", "try row.skip(2)", "values += [.integer(0), .text(name)]",
        "Array(row.values.prefix(2))",
    ])
    func `a line that only resembles a read by position is allowed`(line: String) {
        #expect(violations(line, in: "Server/Sources/Storage/Y.swift") == 0)
    }

    @Test func `a SELECT among the columns of another SELECT is a violation`() {
        let nested = """
            "SELECT timeline, (SELECT customer FROM links "
                + "WHERE links.app = purchases.app) FROM purchases"
            """
        #expect(violations(nested, in: "Server/Sources/Storage/Y.swift") == 1)
        let joined = """
            "SELECT timeline, customer FROM purchases WHERE EXISTS (SELECT 1 FROM links "
                + "WHERE links.app = purchases.app)"
            """
        #expect(violations(joined, in: "Server/Sources/Storage/Y.swift") == 0)
    }

    @Test(arguments: [
        "// TO" + "DO: later", "// FIX" + "ME", "let x = 1 // HA" + "CK", "// not imple" + "mented",
    ])
    func `a mark of unfinished work is a violation, except in a page`(line: String) {
        #expect(violations(line) == 1)
        #expect(violations(line, in: "STYLE.md") == 0)
    }

    @Test(arguments: [
        "see /ho" + "me/anna/main", "cd /Us" + "ers/anna/x", "/tm" + "p/jobs.0", "in /ro" + "ot/x",
        "as iss" + "ue 12 says", "Mend it (#" + "12)",
    ])
    func `a machine's path or an issue's number is a violation in every file`(line: String) {
        #expect(violations(line, in: "docs/x.md") == 1)
        #expect(violations("// " + line) == 1)
    }

    @Test func `public declarations are allowed in the SDK, and a trap in a test is a violation`() {
        #expect(violations("public struct X {}", in: "Sources/Perennial/X.swift") == 0)
        #expect(violations("let x = try! read()", in: "Server/Tests/X/Y.swift") == 1)
    }

    @Test(arguments: [
        "struct PurchaseManager {}", "enum StringUtils {}", "final class StoreImpl {}",
        "let urlHelper = 1", "func getAccess() {}", "func computeAccess() {}",
        "func handleRefund() {}", "class func getX() {}", "struct CustomerInfo {}",
        "struct ReceiptData {}", "actor BillingService {}", "class ViewBase {}",
    ])
    func `a meaningless name in the code is a violation`(line: String) {
        #expect(complaints(line) == 1)
    }

    @Test(arguments: [
        "func access() {}", "func getaway() {}", "let baseURL = 1", "enum Base64 {}",
        "func handle() {}", "router.get(\"/x\")", "// struct PurchaseManager", "struct Database {}",
        "func `get the thing`() {}", "let signedRenewalInfo = 1",
    ])
    func `a meaningful name in the code is allowed`(line: String) {
        #expect(complaints(line) == 0)
    }

    @Test func `Apple's words are allowed where Apple's vocabulary is used`() {
        let text = "struct NotificationData {}"
        #expect(complaints(text, in: "Server/Sources/AppStoreFormats/X.swift") == 0)
        #expect(complaints(text, in: "Server/Sources/Ledger/X.swift") == 1)
    }

    @Test func `a route that uses the database is a violation`() {
        let line = "func list(_ tx: DatabaseSession) {}"
        #expect(violations(line, in: "Server/Sources/HTTPServer/X.swift") == 1)
        #expect(violations(line, in: "Server/Sources/Engine/X.swift") == 0)
    }

    @Test func `a type that is called a service is a violation outside Engine`() {
        let text = "struct WalletService {}"
        #expect(complaints(text, in: "Server/Sources/Engine/X.swift") == 0)
        #expect(complaints(text, in: "Server/Sources/Storage/X.swift") == 1)
    }

    @Test func `the message of a violation names the line and the remedy`() {
        let file = SourceFile(path: "A/B.swift", text: "\n\nlet x = try! y()")
        let text = Words.violations(in: file).first?.description ?? ""
        #expect(text.hasPrefix("A/B.swift:3: "))
        #expect(text.contains("Remedy: let the error through"))
    }
}

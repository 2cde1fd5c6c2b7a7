import Testing

@testable import OpenIDConnect

@Suite struct ProviderURLTests {
    @Test(arguments: [
        "https://login.example.com", "https://login.example.com:8443/realms/birds",
        "https://login.example.com/path?tenant=1", "http://localhost:8080/realms/birds",
        "http://127.0.0.1:9000", "http://[::1]:9000/a", "https://[2001:db8::1]/a",
    ])
    func `a provider's address must use https, unless the provider is on this machine`(text: String)
    {
        #expect(ProviderURL(text)?.text == text)
    }

    @Test(arguments: [
        "", "login.example.com", "http://login.example.com", "ftp://login.example.com",
        "https://", "https:///path", "https://user@login.example.com",
        "https://localhost@login.example.com", "http://localhost@login.example.com",
        "http://localhost.example.com", "http://localhost:1@example.com",
        "https://login.example.com#part", "https://login.example.com\\@localhost",
        "https://login.example.com/a b", "https://login.example.com/\n", "https://lögin.example",
        "HTTPS://login.example.com", "https://a:b", "https://a:", "https://a:0", "https://a:65536",
        "https://[::1", "https://[x]/",
        "http://127.0.0.1.example.com", "javascript://localhost/%0aalert(1)",
    ])
    func `an address that a provider may not have is refused`(text: String) {
        #expect(ProviderURL(text) == nil)
    }

    @Test func `parameters are added to an address with or without a query`() {
        let query = [("a b", "c&d=ü"), ("e", "")]
        #expect(
            ProviderURL("https://a.example/x")?.appending(query: query)
                == "https://a.example/x?a%20b=c%26d%3D%C3%BC&e=")
        #expect(
            ProviderURL("https://a.example/x?p=1")?.appending(query: [("a", "b")])
                == "https://a.example/x?p=1&a=b")
        #expect(
            ProviderURL("https://a.example/x/")?.appending(path: "/y") == "https://a.example/x/y")
    }
}

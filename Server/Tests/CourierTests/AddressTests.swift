import Testing

@testable import Courier

@Suite struct AddressTests {
    /// Which addresses webhooks may be sent to. Addresses of private networks, this machine,
    /// clouds' metadata services and documentation are refused.
    static let table: [(String, Bool)] = [
        ("93.184.216.34", true), ("1.1.1.1", true), ("100.63.255.255", true),
        ("100.128.0.1", true), ("172.15.0.1", true), ("172.32.0.1", true),
        ("192.0.1.1", true), ("223.255.255.255", true),
        ("0.0.0.0", false), ("10.0.0.1", false), ("100.64.0.1", false), ("127.0.0.1", false),
        ("127.255.255.254", false), ("169.254.169.254", false), ("172.16.0.1", false),
        ("172.31.255.255", false), ("192.168.1.1", false), ("192.0.0.1", false),
        ("192.0.2.1", false), ("198.18.0.1", false), ("198.51.100.7", false),
        ("203.0.113.9", false), ("224.0.0.1", false), ("255.255.255.255", false),
        ("2606:4700:4700::1111", true), ("2a00:1450:4001:829::200e", true),
        ("::", false), ("::1", false), ("fe80::1", false), ("fc00::1", false),
        ("fd12:3456:789a::1", false), ("ff02::1", false), ("2001:db8::1", false),
        ("2001::1", false), ("3fff::1", false),
        // IPv6 addresses that contain IPv4 addresses.
        ("::ffff:127.0.0.1", false), ("::ffff:7f00:1", false), ("::ffff:169.254.169.254", false),
        ("::ffff:93.184.216.34", true), ("64:ff9b::10.0.0.1", false),
        ("64:ff9b::93.184.216.34", true), ("2002:7f00:1::", false), ("2002:5db8:d822::", true),
        ("::127.0.0.1", false),
    ]

    @Test(arguments: table)
    func `only addresses of the public internet count as public`(text: String, isPublic: Bool)
        throws
    {
        let address = try #require(IPAddress(text))
        #expect(address.isPublic == isPublic)
    }

    /// Spellings of this machine's address that the system's resolver understands, and parsers of
    /// URLs often do not.
    @Test(arguments: [
        "127.0.0.1", "2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "127.1", "localhost",
        "::1", "::ffff:127.0.0.1", "0",
    ])
    func `this machine is refused under every notation of its address`(host: String) throws {
        let found = try HostRules.resolve(host)
        #expect(!found.isEmpty)
        #expect(throws: HostRules.Refusal.self) {
            try HostRules().address(of: host, among: found)
        }
    }

    @Test func `a host name is refused if any of its addresses is private`() throws {
        let (open, shut) = (try #require(IPAddress("1.1.1.1")), try #require(IPAddress("10.0.0.1")))
        let rules = HostRules(privateHosts: ["crm.internal"])
        #expect(try rules.address(of: "example.com", among: [open]) == open)
        #expect(throws: HostRules.Refusal.self) {
            try rules.address(of: "example.com", among: [open, shut])
        }
        #expect(throws: HostRules.Refusal.self) {
            try rules.address(of: "example.com", among: [])
        }
        #expect(try rules.address(of: "CRM.internal", among: [shut]) == shut)
    }

    @Test func `permission to send to this machine does not permit other private addresses`() throws
    {
        let rules = HostRules(allowsLoopback: true)
        let (own, other) = (
            try #require(IPAddress("127.0.0.1")), try #require(IPAddress("169.254.169.254"))
        )
        #expect(try rules.address(of: "localhost", among: [own]) == own)
        #expect(throws: HostRules.Refusal.self) {
            try rules.address(of: "localhost", among: [other])
        }
        #expect(!rules.permitsPlainHTTP(to: "localhost"))
    }

    @Test func `HTTP without TLS is allowed only for hosts that are listed for it`() {
        let rules = HostRules(privateHosts: ["crm.internal"], plainHosts: ["Localhost"])
        #expect(rules.permitsPlainHTTP(to: "LOCALHOST"))
        #expect(!rules.permitsPlainHTTP(to: "crm.internal"))
    }
}

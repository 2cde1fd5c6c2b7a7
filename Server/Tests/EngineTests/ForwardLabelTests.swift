import Testing

@testable import Engine

@Suite struct ForwardLabelTests {
    private static let names = [
        "https://hooks.example.com/T01/secret", "https://hooks.example.com/T02/secret",
        "https://old.example.com:8443/apple", "http://[::1]:9000/a", "https://bare.example.com",
    ]

    @Test(arguments: [
        (2, "https://old.example.com:8443"), (3, "http://[::1]:9000"),
        (4, "https://bare.example.com"),
    ])
    func `an address is shown without its path`(index: Int, label: String) {
        #expect(ForwardLabel.text(of: Self.names[index], among: Self.names) == label)
    }

    @Test func `two addresses of one host have different labels, and the labels never change`() {
        let labels = Self.names.map { ForwardLabel.text(of: $0, among: Self.names) }
        #expect(Set(labels).count == labels.count)
        #expect(!labels.contains { $0.contains("secret") })
        #expect(labels[0].contains(#/^https://hooks\.example\.com\#[0-9a-f]{4}$/#))
        #expect(labels[0] == ForwardLabel.text(of: Self.names[0], among: [Self.names[1]]))
        #expect(labels[0] == ForwardLabel.distinct(Self.names[0]))
    }
}

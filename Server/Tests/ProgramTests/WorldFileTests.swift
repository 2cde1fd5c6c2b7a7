import Foundation
import Testing

@testable import Program

/// A YAML file that describes a simulated world. The file becomes the body of a request that resets
/// the simulator.
@Suite struct WorldFileTests {
    /// Returns the body made from a file that has a StoreKit file in the same folder.
    private func body(_ text: String) async throws -> String {
        try await TemporaryFolder.with { folder in
            let shop = URL(fileURLWithPath: folder + "/Shop.storekit")
            try Data(#"{"products": []}"#.utf8).write(to: shop)
            let path = folder + "/world.yaml"
            try Data(text.utf8).write(to: URL(fileURLWithPath: path))
            return try WorldFile(path: path).json().text
        }
    }

    @Test
    func `in a world file, plain words get their YAML types; dates and quoted words are text`()
        async throws
    {
        let body = try await body(
            """
            now: 2027-01-01T00:00:00Z
            app: {bundle_id: com.example.cats, app_apple_id: 7}
            families: {cats: [anna, ben]}
            prices: {gem: {DEU: 0.89, FRA: "0.79"}}
            v1_era: "2018"
            deterministic: yes
            notification_url: ~
            """)
        #expect(
            body
                == #"{"now":"2027-01-01T00:00:00Z","app":{"bundle_id":"com.example.cats","#
                + #""app_apple_id":7},"families":{"cats":["anna","ben"]},"#
                + #""prices":{"gem":{"DEU":0.89,"FRA":"0.79"}},"v1_era":"2018","#
                + #""deterministic":true,"notification_url":null}"#)
    }

    @Test(arguments: [
        ("shop: Shop.storekit", #"{"shop":{"products":[]}}"#),
        ("seed: 1\nshop: full", #"{"seed":1,"shop":"full"}"#), ("# nothing\n", "{}"),
    ])
    func `a world's shop comes from a StoreKit file beside the world file, or is built in`(
        text: String, expected: String
    ) async throws {
        #expect(try await body(text) == expected)
    }

    @Test(arguments: [("shop: None.storekit", "None.storekit"), ("a: [", "not YAML")])
    func `an error about an unreadable world file names the file`(
        text: String, name: String
    ) async throws {
        let failure = await #expect(throws: StartFailure.self) { try await body(text) }
        #expect(failure?.message.contains(name) == true)
    }
}

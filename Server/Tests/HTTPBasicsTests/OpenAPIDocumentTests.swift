import Foundation
import Testing

@testable import HTTPBasics

@Suite struct OpenAPIDocumentTests {
    private enum Blocks: OpenAPISchemas {}

    /// The JSON of a value. Members have no order, which ``OpenAPIValue`` itself keeps.
    private func json(_ value: OpenAPIValue) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }

    @Test func `operations at one path are grouped, in the order of the list`() {
        func operation(_ method: String, _ path: String) -> OpenAPIDocument.Operation {
            .init(method, path, summary: "s", responses: ["200": OpenAPIResponse("r")])
        }
        let document = OpenAPIDocument(
            info: ["title": "t"],
            operations: [
                operation("GET", "/b"), operation("GET", "/a"), operation("POST", "/b"),
            ], components: [])
        guard case .object(let members) = document.value,
            case .object(let paths)? = members.first(where: { $0.name == "paths" })?.value
        else {
            Issue.record("The document has no paths.")
            return
        }
        #expect(members.map(\.name) == ["openapi", "info", "paths", "components"])
        let listed = paths.map { path -> [String] in
            guard case .object(let operations) = path.value else { return [] }
            return [path.name] + operations.map(\.name)
        }
        #expect(listed == [["/b", "get", "post"], ["/a", "get"]])
    }

    @Test func `an operation omits the members that have no value`() throws {
        let few = OpenAPIDocument.Operation(
            "GET", "/a", summary: "Few", responses: ["200": OpenAPIResponse("Success.")])
        let many = OpenAPIDocument.Operation(
            "POST", "/a", id: "many", summary: "Many", description: "More.", security: "key",
            parameters: [
                OpenAPIParameter(name: "id", place: .path, isRequired: true),
                OpenAPIParameter(name: "limit", schema: Blocks.whole),
            ],
            body: .json(Blocks.reference("Sent")), requiresBody: true,
            responses: [
                "200": OpenAPIResponse("A file.", ["image/png": nil]),
                "default": .reference("problem"),
            ])
        let document = OpenAPIDocument(info: [:], operations: [few, many], components: [])
        let expected = """
            {"components":{},"info":{},"openapi":"3.1.0","paths":{"/a":{\
            "get":{"responses":{"200":{"description":"Success."}},"summary":"Few"},\
            "post":{"description":"More.","operationId":"many",\
            "parameters":[{"in":"path","name":"id","required":true,"schema":{"type":"string"}},\
            {"in":"query","name":"limit","schema":{"type":"integer"}}],\
            "requestBody":{"content":{"application/json":{"schema":\
            {"$ref":"#/components/schemas/Sent"}}},"required":true},\
            "responses":{"200":{"content":{"image/png":{}},"description":"A file."},\
            "default":{"$ref":"#/components/responses/problem"}},\
            "security":[{"key":[]}],"summary":"Many"}}}}
            """
        #expect(try json(document.value) == expected)
    }

    @Test func `the building blocks of schemas are encoded as JSON Schema`() throws {
        let object = Blocks.object(
            ["id": Blocks.text, "until": Blocks.orNull(Blocks.time)], mayLack: ["until"])
        #expect(
            try json(object) == """
                {"properties":{"id":{"type":"string"},"until":{"anyOf":\
                [{"format":"date-time","type":"string"},{"type":"null"}]}},\
                "required":["id"],"type":"object"}
                """)
        #expect(
            try json(Blocks.list(Blocks.words(["a", "b"])))
                == #"{"items":{"enum":["a","b"],"type":"string"},"type":"array"}"#)
    }
}

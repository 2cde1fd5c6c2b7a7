import Testing

@Suite struct FilePermissionTests {
    @Test func `files that the program creates can be read only by its user`() async throws {
        let output = try await BuiltProgram.output(
            of: """
                umask 022
                echo 'apps: {birds: {bundle_id: com.example.birds}}' >perennial.yaml
                "$perennial" keys create --kind app >/dev/null 2>&1
                "$perennial" simulate --population 5 --months 1 --data . --out books \\
                    >/dev/null 2>&1
                stat -c %a .perennial .perennial/perennial.sqlite books
                """)
        #expect(output == "700\n600\n600\n")
    }
}

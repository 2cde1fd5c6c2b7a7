import Testing

/// Runs each check over every file of this repository.
@Suite struct HouseTests {
    @Test func `every import in the repository is listed in the table`() {
        expectNone(Repository.files.flatMap(Arrows.violations))
    }

    @Test func `only the stories import the simulator together with the engine`() {
        expectNone(Arrows.meetings(in: Repository.files))
    }

    @Test func `the manifest declares only dependencies that the table lists`() throws {
        let manifest = try #require(
            Repository.files.first { $0.path == "Server/Package.swift" })
        #expect(!Manifest.targets(in: manifest).isEmpty)
        expectNone(Manifest.violations(in: manifest))
    }

    @Test func `no name in the code contains a meaningless word`() {
        expectNone(Repository.files.flatMap(Names.violations))
    }

    @Test func `every file has a proper name and lies in a listed folder`() {
        expectNone(Rooms.violations(among: Repository.files))
    }

    @Test func `no file contains a banned word`() {
        expectNone(Repository.files.flatMap(Words.violations))
    }

    @Test func `no line, function, file or page exceeds its size limit`() {
        expectNone(Repository.files.flatMap(SourceSizes.violations))
    }

    @Test func `every SQL statement works on one machine of a distributed database`() {
        expectNone(Distribution.violations(among: Repository.files))
    }

    @Test func `every link of every page has a target`() {
        expectNone(
            Repository.files.flatMap { Pages.violations(in: $0, places: Repository.places) })
    }

    @Test func `every page of the documentation can be reached by links`() {
        expectNone(Pages.orphans(among: Repository.files))
    }

    @Test func `docs/privacy.md lists each table of the schema once`() throws {
        let page = try #require(Repository.files.first { $0.path == "docs/privacy.md" })
        let listed = Pages.tables(listedIn: page)
        let schema = Repository.files.filter { $0.path.contains("/Storage/Schema/") }
        let tables = Set(
            schema.flatMap { file in
                file.text.matches(of: #/(?m)^CREATE TABLE (\w+) \(/#).map { String($0.1) }
            })
        #expect(tables.count > 50)
        #expect(listed.sorted() == tables.sorted())
    }

    @Test func `the tidy tests find the repository with its sources and its pages`() {
        #expect(Repository.files.contains { $0.path == "Server/Tests/TidyTests/HouseTests.swift" })
        #expect(Repository.files.contains { $0.path == "README.md" })
        #expect(Repository.files.allSatisfy { !$0.path.contains(".build/") })
    }
}

/// Records a failure for each violation, with its place and its remedy.
private func expectNone(
    _ violations: [Violation], sourceLocation: SourceLocation = #_sourceLocation
) {
    for violation in violations {
        Issue.record(Comment(rawValue: violation.description), sourceLocation: sourceLocation)
    }
}

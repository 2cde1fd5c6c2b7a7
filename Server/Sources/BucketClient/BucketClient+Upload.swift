import Crypto

extension BucketClient {
    /// A file to upload.
    package struct File: Sendable {
        var bytes: Int64
        var read: @Sendable (_ offset: Int64, _ count: Int) throws -> [UInt8]

        /// - Parameters:
        ///   - bytes: its size, which must not change meanwhile.
        ///   - read: returns as many bytes from an offset as are asked for.
        package init(
            bytes: Int64,
            read: @escaping @Sendable (_ offset: Int64, _ count: Int) throws -> [UInt8]
        ) {
            self.bytes = bytes
            self.read = read
        }
    }

    /// Writes an object from a file. It appears when it is complete. Idempotent.
    ///
    /// A large file is uploaded in parts. If that fails, they are deleted; if the program is killed
    /// before, ``abortUploads(named:)`` deletes them.
    package func upload(_ file: File, as name: String) async throws {
        guard file.bytes > Self.partBytesMin else {
            return try await write(file.read(0, Int(file.bytes)), as: name)
        }
        let partBytes = Self.partBytes(of: file.bytes)
        let digest = try Self.digest(of: file)
        let upload = try await beginUpload(of: name, digest: digest)
        do {
            var tags: [String] = []
            for offset in stride(from: 0, to: file.bytes, by: partBytes) {
                let part = try file.read(offset, min(partBytes, Int(file.bytes - offset)))
                tags.append(try await uploadPart(part, number: tags.count + 1, of: upload, name))
            }
            try await complete(upload, with: tags, name)
            guard try await size(of: name) == file.bytes else {
                throw BucketFailure.damaged(name, what: "the server has another size")
            }
        } catch {
            // A cancelled task could send nothing. What is left is deleted at the next start.
            let ending = Task { _ = try? await abort(upload, name) }
            if !Task.isCancelled { await ending.value }
            throw error
        }
    }

    /// The size of the parts of a file, so that it has no more than ``partsMax``, in bytes.
    static func partBytes(of bytes: Int64) -> Int {
        let needed = (Int(bytes) + partsMax - 1) / partsMax
        let unit = 1_048_576
        return max(partBytesMin, (needed + unit - 1) / unit * unit)
    }

    private static func digest(of file: File) throws -> String {
        var digest = SHA256()
        for offset in stride(from: 0, to: file.bytes, by: partBytesMin) {
            try Task.checkCancellation()
            digest.update(data: try file.read(offset, min(partBytesMin, Int(file.bytes - offset))))
        }
        return RequestSigner.hex(digest.finalize())
    }

    /// Returns the id of an upload in parts.
    private func beginUpload(of name: String, digest: String) async throws -> String {
        let response = try await response(
            to: request("POST", name, ["uploads": ""], headers: [Self.digestHeader: digest]),
            doing: "write objects", name: name)
        guard let id = BucketXML(response.body).text("UploadId"), !id.isEmpty else {
            throw BucketFailure.unreadable("an upload without `UploadId`")
        }
        return id
    }

    /// Returns the tag of the part.
    private func uploadPart(
        _ part: [UInt8], number: Int, of upload: String, _ name: String
    ) async throws -> String {
        let response = try await response(
            to: request(
                "PUT", name, ["partNumber": "\(number)", "uploadId": upload], body: part),
            doing: "write objects", name: name)
        guard let tag = response.headers["etag"] else {
            throw BucketFailure.unreadable("a part without `ETag`")
        }
        return tag
    }

    private func complete(_ upload: String, with tags: [String], _ name: String) async throws {
        let parts = zip(1..., tags).map { number, tag in
            "<Part><PartNumber>\(number)</PartNumber><ETag>\(BucketXML.escaped(tag))</ETag></Part>"
        }
        let body = "<CompleteMultipartUpload>\(parts.joined())</CompleteMultipartUpload>"
        let request = request(
            "POST", name, ["uploadId": upload], headers: ["content-type": "application/xml"],
            body: Array(body.utf8))
        do {
            let response = try await response(to: request, doing: "write objects", name: name)
            // S3 may begin its answer before it has assembled the object.
            guard let error = BucketXML(response.body).all("Error").first else { return }
            throw BucketFailure(
                BucketResponse(status: 200, body: Array(error.wrapped.utf8)),
                doing: "write objects", to: name)
        } catch BucketFailure.refused(_, let answer) where answer.contains("NoSuchUpload") {
            // An earlier attempt may have completed it. The caller checks the size.
            return
        }
    }

    private func abort(_ upload: String, _ name: String) async throws {
        _ = try await response(
            to: request("DELETE", name, ["uploadId": upload]), doing: "delete objects", name: name)
    }

    /// Deletes the parts of uploads that were not completed. Call it only while none is running.
    ///
    /// - Parameters:
    ///   - beginning: what the names of the objects begin with.
    ///   - isOwn: whether a name is that of an object of this program. Without a prefix, the
    ///     objects of a neighbour may begin in the same way.
    /// - Returns: the number of uploads.
    package func abortUploads(
        named beginning: String, where isOwn: (String) -> Bool
    ) async throws -> Int {
        var query = ["uploads": "", "prefix": access.address.key(of: beginning)]
        var count = 0
        for _ in 0..<Self.pagesMax {
            let response = try await response(
                to: bucketRequest("GET", query), doing: "list unfinished uploads", name: "")
            let xml = BucketXML(response.body)
            count += try await abortUploads(in: xml, where: isOwn)
            let next = xml.text("NextKeyMarker")
            guard xml.text("IsTruncated") == "true", let next else { return count }
            query["key-marker"] = next
            query["upload-id-marker"] = xml.text("NextUploadIdMarker")
        }
        return count
    }

    private func abortUploads(
        in page: BucketXML, where isOwn: (String) -> Bool
    ) async throws -> Int {
        var count = 0
        for entry in page.all("Upload") {
            guard let key = entry.text("Key"), let name = access.address.name(of: key),
                let upload = entry.text("UploadId"), isOwn(name)
            else { continue }
            do { try await abort(upload, name) } catch BucketFailure.refused(_, let answer)
                where answer.contains("NoSuchUpload")
            { continue }
            count += 1
        }
        return count
    }
}

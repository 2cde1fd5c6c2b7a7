import Dashboard
import HTTPBasics
import Hummingbird
import NIOCore

extension Router<ServerContext> {
    /// Serves a file that pages load.
    package func add(_ asset: Asset) {
        let body = ConstantBody(
            ByteBuffer(bytes: asset.bytes), mediaType: asset.contentType,
            cacheControl: Asset.cacheControl)
        get(RouterPath(asset.path)) { request, _ in body.response(to: request) }
    }
}

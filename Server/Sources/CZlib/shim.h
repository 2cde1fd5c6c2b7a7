#include <zlib.h>

// A macro with an argument of sizeof, which Swift does not import. 32 reads gzip and zlib.
static inline int perennial_inflate_init(z_stream *stream) {
    return inflateInit2(stream, 15 + 32);
}

#include <zlib.h>

// Swift cannot import `inflateInit2`, which is a macro that uses sizeof. Adding 32 makes it accept
// both gzip and zlib.
static inline int perennial_inflate_init(z_stream *stream) {
    return inflateInit2(stream, 15 + 32);
}

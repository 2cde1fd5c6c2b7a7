// Debian keeps the header in a folder of its own; elsewhere pkg-config names the folder.
#if __has_include(<libpq-fe.h>)
#include <libpq-fe.h>
#else
#include <postgresql/libpq-fe.h>
#endif

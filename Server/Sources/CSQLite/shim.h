#include <sqlite3.h>

// Without it every piece of memory is counted under a lock, for statistics that nobody reads.
// Variadic functions cannot be called from Swift.
static inline int perennial_sqlite_count_no_memory(void) {
    return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

#include <sqlite3.h>

// Without it every piece of memory is counted under a lock, for statistics that nobody reads.
// Variadic functions cannot be called from Swift.
static inline int perennial_sqlite_count_no_memory(void) {
    return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

// The write-ahead log stays when the last connection closes.
static inline int perennial_sqlite_keep_log(sqlite3 *connection) {
    return sqlite3_db_config(connection, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)0);
}

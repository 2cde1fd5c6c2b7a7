#include <sqlite3.h>

// Turns off SQLite's memory statistics, which nobody reads. Counting them would take a lock for
// every allocation. Variadic functions cannot be called from Swift.
static inline int perennial_sqlite_count_no_memory(void) {
    return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

// Keeps the write-ahead log when the last connection closes.
static inline int perennial_sqlite_keep_log(sqlite3 *connection) {
    return sqlite3_db_config(connection, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)0);
}

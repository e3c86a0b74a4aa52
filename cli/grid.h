/* grid.h: aligned columns on standard output. Private to cli. */
#ifndef SF_CLI_GRID_H
#define SF_CLI_GRID_H

#include "cli/cli.h"

/* Cells come row by row; the first row has the names. The first rows are held back, their widths
 * are the columns'; what comes after is printed at once. */
typedef struct {
    size_t column_count, column; /* of the next cell */
    uint32_t *widths;
    bool *right;
    SF_VEC(char *) held;
    bool sized;
    sf_buf buf;
} sf_cli_grid;

SF_MUST_USE sf_status sf_cli_grid_init(sf_cli_grid *grid, size_t column_count, sf_error *err);
void sf_cli_grid_deinit(sf_cli_grid *grid);
/* Control characters are shown as escapes. */
SF_MUST_USE sf_status sf_cli_grid_cell(sf_cli_grid *grid, sf_str text, sf_error *err);
/* All rows so far go out; held ones only with `held`. */
SF_MUST_USE sf_status sf_cli_grid_show(sf_cli_grid *grid, bool held, sf_error *err);

/* Writes the bytes and empties the buffer. */
SF_MUST_USE sf_status sf_cli_put(sf_buf *buf, sf_error *err);

#endif
